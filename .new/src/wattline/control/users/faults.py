"""What can be wrong with what a user's policy did: one number each, noted in the state by the edge."""

from __future__ import annotations

STARTS, STOPS, RESUMES, RECAPS, REASON, ESTIMATE, PROFILE, SPREAD, LEVEL, MARGIN, EXTENTS, ANSWER, TIMER = range(1, 14)
