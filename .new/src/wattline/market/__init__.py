"""Rule books: the regulation product, what it costs and pays, and how well a target was followed."""
