"""When a log's header says that it began, and when that is not believed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from wattline.reading.machine import header_number
from wattline.reading.unix_times import MOST_EPOCH_S

BEGAN = "UnixStartTime"
"""What a header calls the Unix time of second 0."""


def header_epoch(header: Mapping[str, str]) -> tuple[float, list[tuple[str, str, str]]]:
    """Return when a log began in Unix seconds (NaN: not known), and what is odd in how its header says it.

    0, as rebased logs say, is nobody's start and means unknown, and so does -1. An oddity is key, value and what was
    made of it.

    >>> header_epoch({"UnixStartTime": "1711846200"}), header_epoch({"UnixStartTime": "0"})
    ((1711846200.0, []), (nan, []))
    """
    lines = [line.strip() for line in header.get(BEGAN, "").split("\n") if line.strip()]
    if not lines:
        return math.nan, []
    value, found = header_number(lines[0]), []
    words = lines[0].split()
    several = len(words) > 1 and not math.isnan(header_number(words[1]))
    if several or not (0 <= value <= MOST_EPOCH_S or value == -1):
        told = f"the header's {BEGAN} is not one number of seconds since 1970: not believed, the log has no date"
        found.append((BEGAN, lines[0], told))
        value = math.nan
    others = [line for line in lines[1:] if line != lines[0]]
    if others:
        found.append((BEGAN, others[0], f"the header says {BEGAN} again, and something else: the first is used"))
    return value if value > 0 else math.nan, found
