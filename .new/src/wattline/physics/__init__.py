"""Consequences: what power, rates, queues and clocks do once a decision is taken."""
