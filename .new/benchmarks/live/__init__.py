"""Speed of the real machine: its bus, agents, launcher and controller."""
