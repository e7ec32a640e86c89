"""The compiled part of the packet simulation: its state, its events and what each of them does."""
