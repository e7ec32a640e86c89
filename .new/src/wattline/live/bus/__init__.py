"""How agents and controllers talk: one interface, one kind of wire a file."""
