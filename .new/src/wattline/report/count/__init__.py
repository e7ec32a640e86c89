"""Counting: what the journal of a run says of service, power, energy, money and learning."""
