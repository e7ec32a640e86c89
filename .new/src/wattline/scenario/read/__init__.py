"""From the text of a file to plain data and checked values: TOML, lines, quantities, and errors that say where."""
