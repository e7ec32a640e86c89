"""A whole machine on one computer: emulated nodes, real agents, launcher and controller, beside the simulated run."""
