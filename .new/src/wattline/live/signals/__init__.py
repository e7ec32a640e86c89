"""What the grid asks for: one kind of source a file, each sample with its age."""
