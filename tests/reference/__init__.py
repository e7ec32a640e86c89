"""Plain, slow, literal implementations that the compiled code is held against."""
