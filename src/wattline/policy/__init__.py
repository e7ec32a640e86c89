"""Choices now."""
