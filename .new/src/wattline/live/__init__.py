"""The real world: agents on nodes, the controller of a machine, and what they touch (wires, clocks, meters, jobs)."""
