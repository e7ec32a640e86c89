"""What a node draws and how it is capped: one kind of meter a file, a server model, a PID."""
