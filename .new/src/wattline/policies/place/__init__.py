"""The place mechanisms."""
