"""The power of a whole server kept by its packages' limits: a server model, a PID, and how both are fitted."""
