"""The built-in launcher: a small resource manager that starts, stops and continues real processes without root."""
