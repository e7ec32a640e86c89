"""A comparison in a sentence: what changed, by how much, for whom."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wattline.report.count.compare import Comparison, Row
from wattline.report.count.effects import Effect, Effects
from wattline.report.show import number, plural, show

TOLD = ("jobs.finished", "wait_s.mean", "energy.total_j", "power.peak_w", "cost")
"""What the sentence speaks of, as far as it differs."""

NAMES = {
    "jobs.finished": "jobs finished",
    "wait_s.mean": "the mean wait",
    "energy.total_j": "energy",
    "power.peak_w": "peak power",
    "cost": "the cost",
}
SAME = 5e-4
"""Relative differences below this are none."""


def answer(found: Comparison, effects: Mapping[str, Effects] | None = None) -> str:
    """Return the sentence of a comparison: two labels against each other, or the best of more."""
    rows = [row for path in TOLD for row in found.rows if row.metric.path == path]
    if len(found.labels) == 1:
        return f"{found.labels[0]}: {_list([f'{_name(row)} {_value(row, row.estimates[0].mean)}' for row in rows])}."
    if len(found.labels) > 2:
        return _best(found, rows)
    first, other = found.labels
    more = found.started[1] if found.started else 0.0
    changes = [_changed(row, more, pairs=found.pairs[1], all_pair=found.all_pair) for row in rows]
    told = [words for words in changes if words]
    if told:
        head = f"With {other} instead of {first} {_list(told)}."
    else:
        same = [_name(row) for row, words in zip(rows, changes, strict=True) if words is not None]
        head = f"Between {first} and {other} there is no difference in {_list(same, 'or')}." if same else ""
    named = (effects or {}).get(other) or {}
    return f"{head} {effect_words(other, first, named, same_jobs=not more)}".strip()


def effect_words(label: str, first: str, named: Effects, *, same_jobs: bool = True) -> str:
    """Return who waits longer and who less, of users where they are known, else of groups, kinds or sizes.

    Where not the ``same_jobs`` start with both labels, it is of those that do.
    """
    what = next((name for name in ("user", "group", "kind", "size") if name in named), None)
    if what is None:
        return ""
    rows = named[what]
    losers = sorted((row for row in rows if row.loses), key=lambda row: -row.total_s)
    gainers = sorted((row for row in rows if row.gains), key=lambda row: row.total_s)
    if not losers and not gainers:
        of = "" if same_jobs else ", of the jobs that start with both"
        return f"Nobody waits longer or less with {label} than with {first}{of}."
    parts = [
        f"{'all' if len(some) == len(rows) else f'{len(some):,}'} {verb}, {_most(some[0], what)}"
        for some, verb in (
            (losers, "waits longer" if len(losers) == 1 else "wait longer"),
            (gainers, "waits less" if len(gainers) == 1 else "wait less"),
        )
        if some
    ]
    return f"Of {plural(len(rows), what)} {'; '.join(parts)}."


def _most(row: Effect, what: str) -> str:
    name = row.name or "(unknown)"
    who = f"jobs of {name} {'node' if name == '1' else 'nodes'}" if what == "size" else name
    whole, each = (show(abs(seconds), "s") for seconds in (row.total_s, row.change_s))
    return f"{who} most in all ({whole} {'more' if row.change_s > 0 else 'less'}, {each} a job)"


def _changed(row: Row, more: float, *, pairs: int, all_pair: bool) -> str | None:
    """Return how a metric changed from the first label to the second, in which so many more jobs start; "" where it
    did not, None where it is not known.

    It is told of the runs that have a partner, and of all where none has.
    """
    difference, before = row.differences[1], row.references[1]
    paired = difference is not None and not math.isnan(difference.mean)
    if difference is not None and paired:
        after, may_be = before + difference.mean, math.isfinite(difference.half_width) and not difference.excludes_zero
    elif pairs or not row.whole:
        return None
    else:
        before, after, may_be = row.estimates[0].mean, row.estimates[1].mean, True
    if math.isnan(after - before):
        return None
    if abs(after - before) <= SAME * max(abs(before), abs(after)):
        return ""
    remarks = []
    if more and row.metric.path == "wait_s.mean":
        count = f"{'up to ' if pairs > 1 else ''}{number(abs(more))} {'fewer' if more < 0 else 'more'}"
        remarks.append(f"of different jobs: {count} start{' in a run' if pairs > 1 else ''}")
    elif before > 0 and after > 0:
        ratio = after / before
        remarks.append(f"{number(ratio, 2)} times as much" if ratio > 10 else _percent(ratio))
    if not all_pair:
        remarks.append("in runs of equal seeds alone" if paired else "in runs of different seeds")
    if may_be:
        remarks.append("which may be chance")
    verb = "are" if row.metric.path == "jobs.finished" else "is"
    return f"{_name(row)} {verb} {_value(row, after)} instead of {_value(row, before)}" + (
        f" ({', '.join(remarks)})" if remarks else ""
    )


def _percent(ratio: float) -> str:
    return f"{number(100 * abs(ratio - 1), 2)} % {'more' if ratio > 1 else 'less'}"


def _best(found: Comparison, rows: Sequence[Row]) -> str:
    """Return which of several labels is best in each of the metrics that differ."""
    told = []
    for row in rows:
        means = [e.mean for e in row.estimates]
        known = [mean for mean in means if not math.isnan(mean)]
        if not row.whole or len(known) < len(means) or max(known) - min(known) <= SAME * max(abs(v) for v in known):
            continue
        best, worst = row.ends
        least = SAME * max(abs(v) for v in known)
        picked = [label for label, mean in zip(found.labels, means, strict=True) if abs(mean - means[best]) <= least]
        chance = math.isfinite(row.between.half_width) and not row.between.excludes_zero
        told.append(
            f"{_name(row)} {'are most' if row.metric.better == 'higher' else 'is least'} with {_list(picked)} "
            f"({_value(row, means[best])}; {found.labels[worst]}: {_value(row, means[worst])}"
            f"{', which may be chance' if chance else ''})"
        )
    if not told:
        return f"Among {len(found.labels)} settings {_list([_name(row) for row in rows if row.whole])} are the same."
    alone = "" if found.all_pair else " Their runs have different seeds: some of it may be chance."
    return f"Of {len(found.labels)} settings {_list(told)}.{alone}"


def _name(row: Row) -> str:
    return NAMES[row.metric.path]


def _value(row: Row, mean: float) -> str:
    unit = row.metric.unit
    if unit == "$":
        return f"${number(mean, 4)}"
    return number(mean, 4) if unit == "jobs" else show(mean, unit)


def _list(parts: Sequence[str], word: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}" if parts else ""
