"""A status document for people: lines of at most 80 columns, each with a style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from wattline.live.watch.document import Document
from wattline.live.watch.table import NODE_MODES, PHASES
from wattline.units import show_duration, show_power

WIDTH = 80
LABEL = 9
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-=+*%#"
"""Heights of a small curve, and those for terminals that know no others."""
SHOWN_WAITS = 4
"""Jobs that are shown with the reason for which they wait."""
SILENT_S = 5.0
"""Seconds of the wall without a newer document after which that is said."""

Line = tuple[str, str]
"""Text and style."""


def lines(document: Document, *, silent_s: float = 0.0, blocks: str = BLOCKS) -> list[Line]:
    """Return what is shown; ``silent_s`` is for how long no newer document has come."""
    power, signal = document.power, document.signal
    found: list[Line] = [(_head(document), "bold")]
    if silent_s > SILENT_S:
        found.append((f"no news from the controller for {show_duration(silent_s)}", "bold red"))
    measured, modelled = _watts(power.measured_w), _watts(power.modelled_w)
    over = power.measured_w > power.limit_w
    found.append((_row("power", f"{measured} measured, {modelled} modelled"), "red" if over else ""))
    found.append((_row("limit", f"{_limit(power.limit_w)}{'  EXCEEDED' if over else ''}"), "red" if over else ""))
    found.append((_row("target", f"{_limit(power.target_w)}  {_error(document)}"), ""))
    if not math.isnan(power.would_error):
        told = _error_words("with these caps, by the model: error", power.would_error, power.would_mean_error)
        found.append((_row("", told), ""))
    found += [(line, "cyan") for line in _curves(document, blocks)]
    age = "never heard" if math.isinf(signal.age_s) else f"last good sample {show_duration(signal.age_s)} old"
    if math.isnan(signal.value):
        found.append((_row("signal", "none"), ""))
    else:
        told = f"{signal.value:+.3f}  {signal.state}, {age}"
        found.append((_row("signal", told), "" if signal.state == "fresh" else "yellow"))
    if signal.refused:
        found.append((_row("", f"refused: {_counts(signal.refused)}"), "yellow"))
    trouble = document.nodes.get("silent", 0) or document.nodes.get("safe", 0)
    found.append((_row("nodes", _counts(document.nodes, NODE_MODES) or "none"), "yellow" if trouble else ""))
    if document.distrusted:
        told = f"meters disagree on {document.distrusted:,}: the larger reading of each counts"
        found.append((_row("", told), "yellow"))
    found.append((_row("jobs", _counts(document.jobs, PHASES) or "none"), ""))
    for number, (job, why) in enumerate(list(document.waits.items())[:SHOWN_WAITS]):
        found.append((_row("waits" if number == 0 else "", f"{job}: {why}"), "yellow"))
    if len(document.waits) > SHOWN_WAITS:
        found.append((_row("", f"and {len(document.waits) - SHOWN_WAITS} more (--json)"), "yellow"))
    found.append((_row("faults", _counts(document.faults) or "none"), "red" if document.faults else ""))
    for number, action in enumerate(reversed(document.actions[-8:])):
        text = f"{_clock(action.time_s)} {action.what} {action.subject}{': ' if action.why else ''}{action.why}"
        found.append((_row("actions" if number == 0 else "", text), "dim"))
    return found


def _head(document: Document) -> str:
    term = f", term {document.term}" if document.term else ""
    speed = f" ({document.speed:g}x)" if document.speed != 1.0 else ""
    left = f"{document.site}  {document.role}{term}  {document.policy}"
    right = f"{_clock(document.time_s, date=True)}{speed}"
    return _fit(f"{_plain(left)[: WIDTH - len(right) - 2]:{WIDTH - len(right) - 2}}  {right}")


def _row(label: str, text: str) -> str:
    return _fit(f"{label:{LABEL}}{_plain(text)}")


def _fit(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _plain(text: str) -> str:
    """Return a text that cannot move the cursor: names of jobs are made by users."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _watts(watts: float) -> str:
    return "unknown" if math.isnan(watts) else show_power(watts)


def _limit(watts: float) -> str:
    return show_power(watts) if math.isfinite(watts) else "none"


def _error(document: Document) -> str:
    power = document.power
    if math.isnan(power.error):
        return ""
    return _error_words("error", power.error, power.mean_error)


def _error_words(what: str, error: float, mean_error: float) -> str:
    mean = "" if math.isnan(mean_error) else f", mean {100 * mean_error:.1f} %"
    return f"{what} {100 * error:.1f} % of the reserve{mean}"


def _counts(counts: Mapping[str, int], order: Sequence[str] = ()) -> str:
    known = [word for word in order if counts.get(word)]
    others = sorted((word for word in counts if word not in order and counts[word]), key=lambda word: -counts[word])
    return ", ".join(f"{counts[word]:,} {word}" for word in [*known, *others])


def _clock(time_s: float, *, date: bool = False) -> str:
    if not 0.0 <= time_s < 2.5e11:
        return "--:--:--"
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC" if date else "%H:%M:%S")


def _curves(document: Document, blocks: str) -> list[str]:
    """Return measured power and target over the last minutes, on one scale."""
    rows = document.history
    values = [value for _, *pair in rows for value in pair if math.isfinite(value)]
    if len(rows) < 2 or not values:
        return []
    low, high = min(values), max(values)
    span_s = rows[-1][0] - rows[0][0]
    room = WIDTH - LABEL - 22
    scale = f"{show_power(low)} to {show_power(high)}, {show_duration(max(0.0, span_s))}"
    found = [_row("", scale)]
    for name, column in (("measured", 1), ("target", 2)):
        curve = sparkline([row[column] for row in rows], low, high, room, blocks)
        if curve.strip():
            found.append(_row("", f"{curve:{room}}  {name}"))
    return found


def sparkline(values: Sequence[float], low: float, high: float, width: int, blocks: str = BLOCKS) -> str:
    """Return a small curve: means of as many parts as fit, a blank where nothing is known."""
    parts = min(width, len(values))
    found = []
    for part in range(parts):
        mine = [v for v in values[part * len(values) // parts : (part + 1) * len(values) // parts] if math.isfinite(v)]
        if not mine:
            found.append(" ")
            continue
        height = (sum(mine) / len(mine) - low) / (high - low) if high > low else 0.5
        found.append(blocks[min(len(blocks) - 1, max(0, int(height * len(blocks))))])
    return "".join(found)
