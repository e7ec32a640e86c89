"""The order mechanisms."""
