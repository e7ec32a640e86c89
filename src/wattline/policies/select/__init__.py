"""The select mechanisms."""
