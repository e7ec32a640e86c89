"""Faults put into clean samples on purpose, so many of each class, to hold the search for them against what is there.

Every fault has a stretch of its sensor's samples for itself, so that each can be told from the others. Samples that are
moved in time leave a hole where they were, which counts as missing too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, did_you_mean
from wattline.telemetry.cleaning.faults import Fault
from wattline.telemetry.cleaning.rules import PATIENCE, STUCK
from wattline.telemetry.made.sample import Samples

CLASSES = (
    Fault.DUPLICATE,
    Fault.LATE,
    Fault.TOO_LATE,
    Fault.MISSING,
    Fault.NEGATIVE,
    Fault.NAN,
    Fault.OVER,
    Fault.STUCK,
    Fault.UNKNOWN,
    Fault.CLOCK,
    Fault.AHEAD,
    Fault.NO_TIME,
)
HOLES = (Fault.MISSING, Fault.TOO_LATE, Fault.CLOCK, Fault.AHEAD, Fault.NO_TIME)
"""Faults that leave a hole where a sample should be."""
_BACK = 3
_AHEAD_S = 30 * 86400.0


@dataclass(frozen=True)
class Injected:
    """Samples with faults, how many of each class, and the fault of every one of the clean samples (-1: none)."""

    samples: Samples
    counts: dict[str, int]
    most_w: float
    fault: Ints

    @property
    def holes(self) -> int:
        """Samples that are not where they should be."""
        return sum(self.counts.get(fault.word, 0) for fault in HOLES)


def parse_faults(text: str) -> dict[Fault, float]:
    """Read shares of samples by class: ``nan=0.01,late=0.002`` or ``all=0.001``."""
    words = {fault.word: fault for fault in CLASSES}
    found: dict[Fault, float] = {}
    for part in text.split(","):
        name, mark, share = part.strip().partition("=")
        if name != "all" and name not in words:
            raise InputError(f"--faults {text}: unknown class {name!r}{did_you_mean(name, [*words, 'all'])}")
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not mark or not 0 < value < 1:
            raise InputError(f"--faults {text}: expected a share of samples like {name}=0.001, got {part.strip()!r}")
        found |= dict.fromkeys(CLASSES, value) if name == "all" else {words[name]: value}
    return found


def inject(
    samples: Samples, shares: dict[Fault, float], every_s: float, seed: int = 1, most_w: float | None = None
) -> Injected:
    """Put faults into samples of a regular period, sorted by time; rules of finding them are the usual ones."""
    random = np.random.default_rng([seed, 3])
    order = np.lexsort((samples.time_s, samples.code))
    code, time_s, power_w = samples.code[order], samples.time_s[order].copy(), samples.power_w[order].copy()
    came_s = time_s.copy()
    patience_s, run = PATIENCE * every_s, int(STUCK) + 2
    most_w = float(power_w.max()) * 1.5 if most_w is None else most_w
    slots = _slots(code, time_s, power_w, run + 4, float(time_s.max()) - patience_s - 4 * every_s)
    random.shuffle(slots)
    counts: dict[str, int] = {}
    extra: list[tuple[Ints, Floats, Floats, Floats]] = []
    gone, blame = np.zeros(code.size, dtype=bool), np.full(code.size, -1, dtype=np.int64)
    for fault, share in sorted(shares.items()):
        width = {Fault.STUCK: run, Fault.CLOCK: _BACK}.get(fault, 1)
        many = max(round(share * code.size / width), 1)
        if many > slots.size:
            raise InputError(
                f"--faults: {code.size:,} samples have no room for so many; give smaller shares, or more samples"
            )
        at, slots = slots[:many] + 2, slots[many:]
        spread = (at[:, None] + np.arange(width)).ravel()
        counts[fault.word] = spread.size
        blame[spread] = fault
        if fault == Fault.DUPLICATE:
            extra.append((code[at], time_s[at], power_w[at] * 1.01, came_s[at] + 0.2 * every_s))
        elif fault == Fault.UNKNOWN:
            extra.append((np.full(at.size, samples.sensors + 7), time_s[at], power_w[at], came_s[at]))
        elif fault == Fault.LATE:
            came_s[at] += 2.5 * every_s
        elif fault == Fault.TOO_LATE:
            came_s[at] += patience_s + 1.5 * every_s
        elif fault == Fault.MISSING:
            gone[at] = True
        elif fault == Fault.NAN:
            power_w[at] = np.nan
        elif fault == Fault.NEGATIVE:
            power_w[at] = -power_w[at]
        elif fault == Fault.OVER:
            power_w[at] = most_w * random.uniform(1.1, 3.0, at.size)
        elif fault == Fault.STUCK:
            power_w[spread] = np.repeat(power_w[at - 1], width)
        elif fault == Fault.CLOCK:
            time_s[spread] -= patience_s + (_BACK + 2) * every_s
        elif fault == Fault.AHEAD:
            time_s[at] += _AHEAD_S
        elif fault == Fault.NO_TIME:
            time_s[at] = np.nan
    columns = [
        np.concatenate([a[~gone], *(e[i] for e in extra)]) for i, a in enumerate((code, time_s, power_w, came_s))
    ]
    arrival = np.argsort(columns[3], kind="stable")
    spoilt = replace(samples, code=columns[0][arrival], time_s=columns[1][arrival], power_w=columns[2][arrival])
    back = np.empty(code.size, dtype=np.int64)
    back[order] = blame
    return Injected(spoilt, counts, most_w, back)


def _slots(code: Ints, time_s: Floats, power_w: Floats, width: int, before_s: float) -> Ints:
    """Return where stretches of so many samples of one sensor begin, all above 0 W, none at its beginning or end."""
    first = np.concatenate([[True], code[1:] != code[:-1]])
    begin = np.flatnonzero(first)
    many = np.diff(np.append(begin, code.size))
    blocks = np.maximum((many - 2) // width, 0)
    block = np.arange(int(blocks.sum())) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    found = np.repeat(begin, blocks) + 1 + block * width
    dark = np.concatenate([[0], np.cumsum(~(power_w > 0))])
    return np.asarray(found[(dark[found + width] == dark[found]) & (time_s[found + width - 1] < before_s)])
