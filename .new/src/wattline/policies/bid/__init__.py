"""What to promise the grid for the next hour, from the present state."""
