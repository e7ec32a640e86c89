"""Commands of the real machine: what runs on nodes and beside them, and how an operator looks at it."""
