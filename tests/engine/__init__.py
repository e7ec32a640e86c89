"""Tests of the engine: step, guard, clocks, nodes, and the loop around them."""
