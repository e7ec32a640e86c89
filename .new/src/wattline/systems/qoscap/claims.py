"""What the thesis states of QoSCap and Adaptive bidding, and Wattline of its own pair, each beside what the study
found.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wattline.bidding.hours.days import DayOutcome
from wattline.market.tracking import SHARE
from wattline.systems.qoscap.cases import LAWS, OURS, OUT, PUBLISHED, PUBLISHED_PAIR
from wattline.systems.qoscap.study import Study
from wattline.systems.reproduction import Claim

LIMIT = 2.0


def claims(study: Study) -> list[Claim]:
    """Return all statements with verdicts."""
    cases = [case for case in study.found if case in LAWS]
    return [_both(study, cases), *_others(study, cases), _saving(study, cases), *_table(study, cases), *_ours(study)]


def met(outcomes: list[DayOutcome]) -> int:
    """Return on how many days both constraints are met."""
    return sum(outcome.meets for outcome in outcomes)


def mean_cost(outcomes: list[DayOutcome]) -> float:
    """Return the mean cost of a day."""
    return float(np.mean([outcome.cost for outcome in outcomes]))


def _days(study: Study, cases: list[str], pair: str) -> str:
    return ", ".join(f"{case} {met(study.found[case][pair])} of {len(study.found[case][pair])}" for case in cases)


def _both(study: Study, cases: list[str]) -> Claim:
    days = {case: study.found[case][PUBLISHED_PAIR] for case in cases}
    good = all(met(found) == len(found) for found in days.values())
    return Claim(
        "T2.7",
        "QoSCap + Adaptive meets both constraints on every trace",
        "QoSCap with Adaptive bidding meets the tracking and the QoS constraints on all three traces (on every drawn "
        "day).",
        f"on {_days(study, cases, PUBLISHED_PAIR)} days",
        holds=good,
        because="" if good else "; ".join(_missed(study, case, PUBLISHED_PAIR) for case in cases),
    )


def _missed(study: Study, case: str, pair: str) -> str:
    """Return the days on which a pair misses a constraint, and what the same days have without a market."""
    rows = zip(study.found[case][pair], study.found[case][OUT.name], strict=True)
    told = [
        f"day {i} (errors {here.exceed:.1%}, {here.worst_kind} {here.worst:.2f}; without a market {there.worst:.2f})"
        for i, (here, there) in enumerate(rows, 1)
        if not here.meets
    ]
    return f"{case}: {', '.join(told) or 'every day meets both'}"


def _others(study: Study, cases: list[str]) -> list[Claim]:
    """Return that no other published pair does so everywhere, and why each fails."""
    found = []
    for pair in PUBLISHED["emmy, Nov 15"]:
        if pair == PUBLISHED_PAIR:
            continue
        all_days = [outcome for case in cases for outcome in study.found[case][pair]]
        tracking = sum(outcome.exceed >= SHARE for outcome in all_days)
        qos = sum(outcome.worst > LIMIT for outcome in all_days)
        fails = met(all_days) < len(all_days)
        found.append(
            Claim(
                "T2.7",
                f"{pair} does not",
                f"{pair} misses a constraint on at least one of the three traces (on at least one drawn day).",
                f"meets both on {met(all_days)} of {len(all_days)} days; misses tracking on {tracking}, QoS on {qos}",
                holds=fails,
                because="" if fails else f"on these {len(all_days)} days it misses none; cause not tested",
            )
        )
    return found


def _saving(study: Study, cases: list[str]) -> Claim:
    """Return the published saving beside ours, and what the range of caps makes of it."""
    out = mean_cost(_all(study.found, cases, OUT.name))
    saved = 1.0 - mean_cost(_all(study.found, cases, PUBLISHED_PAIR)) / out
    narrow = {part: 1.0 - mean_cost([o for case in cases for o in by[case]]) / out for part, by in study.narrow.items()}
    holds = abs(saved - 0.10) <= 0.05
    return Claim(
        "§2.9.3",
        "it saves 10 % of the cost",
        "QoSCap with Adaptive bidding costs 10 % less than no participation (5 points granted).",
        f"{saved:.0%} less than the same jobs without a market (EASY, no caps)",
        holds=holds,
        because=""
        if holds
        else "tried with a narrower range of caps (the thesis takes the observed powers of a type as theirs): "
        + ", ".join(f"with {part:.0%} of our range {value:.0%} less" for part, value in narrow.items()),
    )


def _all(found: Mapping[str, Mapping[str, list[DayOutcome]]], cases: list[str], pair: str) -> list[DayOutcome]:
    return [outcome for case in cases for outcome in found[case][pair]]


def _table(study: Study, cases: list[str]) -> list[Claim]:
    """Return the published cost of the pair on each trace beside the range of ours."""
    found = []
    for case in cases:
        cost = PUBLISHED[case][PUBLISHED_PAIR][2]
        ours = [day.cost for day in study.found[case][PUBLISHED_PAIR]]
        narrow = {part: by[case] for part, by in study.narrow.items()}
        holds = cost is not None and min(ours) <= cost <= max(ours)
        found.append(
            Claim(
                "T2.7",
                f"{case}: ${cost}",
                f"{case}: the day costs ${cost} with {PUBLISHED_PAIR} (between the least and the greatest cost of the "
                "drawn days).",
                _costs(study.found[case][PUBLISHED_PAIR]),
                holds=bool(holds),
                because=""
                if holds
                else "tried with a narrower range of caps: "
                + ", ".join(f"with {part:.0%} of our range {_costs(days)}" for part, days in narrow.items())
                + f"; without a market {_costs(study.found[case][OUT.name])}",
            )
        )
    return found


def _costs(days: list[DayOutcome]) -> str:
    """Return the least and the greatest cost of days."""
    low, high = (f"{pick(day.cost for day in days):.0f}" for pick in (min, max))
    return f"${low}" if low == high else f"${low}…{high}"


def _ours(study: Study) -> list[Claim]:
    """Return the statements about our own pair."""
    found = []
    for case, by in study.found.items():
        theirs, ours = by[PUBLISHED_PAIR], by[OURS.name]
        ratio = mean_cost(ours) / mean_cost(theirs)
        good = met(ours) == len(ours) and ratio <= 0.95
        found.append(
            Claim(
                "ours",
                f"{case}: both met, ≥ 5 % cheaper",
                f"{OURS.name} meets both constraints on every day of {case} and costs at least 5 % less than "
                f"{PUBLISHED_PAIR} in the mean.",
                f"meets both on {met(ours)} of {len(ours)} days ({PUBLISHED_PAIR}: {met(theirs)}), cost × {ratio:.2f}",
                holds=good,
                because="" if good else _missed(study, case, OURS.name),
            )
        )
    return found
