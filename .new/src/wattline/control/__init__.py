"""Order and forbid decisions: the step that both worlds call, and the guard that alone turns proposals into actions."""
