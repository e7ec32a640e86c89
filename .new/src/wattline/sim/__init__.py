"""The pretended world: physics moves the state from one instant to the next, control acts in between."""
