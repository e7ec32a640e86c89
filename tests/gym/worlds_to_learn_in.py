"""Worlds that tests of learning environments play in."""

from __future__ import annotations

SOLD = """name = "sold"
kinds = "W4"
[trace]
generator = "kinds"
duration = "5 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
bid = "adaptive"
[regulation]
signal = "gaussian"
hours = 3
warmup = "1 h"
"""
"""Hours of a market in which bids are made."""
