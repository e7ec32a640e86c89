"""The program on a node: it keeps the server's power under a cap that is lent to it, and safe when nobody lends one."""
