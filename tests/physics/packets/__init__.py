"""Tests of the packet engine."""
