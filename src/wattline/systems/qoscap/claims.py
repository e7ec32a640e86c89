"""What the thesis states of QoSCap and Adaptive bidding, and Wattline of its own pair, each beside what the study
found.
"""

from __future__ import annotations

import numpy as np

from wattline.bidding.hours.days import DayOutcome
from wattline.market.tracking import SHARE
from wattline.systems.qoscap.cases import LAWS, OURS, OUT, PUBLISHED, PUBLISHED_PAIR, THETA
from wattline.systems.qoscap.study import Study
from wattline.systems.reproduction import Claim

LIMIT = 2.0
CONGESTION = "a day's congestion decides; the generated days are not the published ones"


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
    good = all(met(study.found[case][PUBLISHED_PAIR]) == len(study.found[case][PUBLISHED_PAIR]) for case in cases)
    return Claim(
        "T2.7",
        "QoSCap + Adaptive meets both constraints on every trace",
        "QoSCap with Adaptive bidding meets the tracking and the QoS constraints on all three traces",
        f"on {_days(study, cases, PUBLISHED_PAIR)} days",
        holds=good,
        because="" if good else CONGESTION,
    )


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
                f"{pair} misses a constraint on at least one trace",
                f"meets both on {met(all_days)} of {len(all_days)} days; misses tracking on {tracking}, QoS on {qos}",
                holds=fails,
                because="" if fails else CONGESTION,
            )
        )
    return found


def _saving(study: Study, cases: list[str]) -> Claim:
    """Return the published saving beside ours, both ways."""
    pair = [outcome for case in cases for outcome in study.found[case][PUBLISHED_PAIR]]
    out = [outcome for case in cases for outcome in study.found[case][OUT.name]]
    saved = 1.0 - mean_cost(pair) / mean_cost(out)
    return Claim(
        "§2.9.3",
        "it saves 10 % of the cost",
        "QoSCap with Adaptive bidding costs 10 % less than no participation",
        f"{saved:.0%} less than the same jobs without a market (EASY, no caps)",
        holds=bool(0.05 <= saved <= 0.15),
        because=""
        if 0.05 <= saved <= 0.15
        else "what is saved is the width of the caps' range: cost per hour is the power at the lowest caps; the logs' "
        "observed "
        "powers of a type lie a few per cent apart, the stated cap model reaches about half of what is above idle",
    )


def _table(study: Study, cases: list[str]) -> list[Claim]:
    """Return the published cost of the pair on each trace beside the range of ours."""
    found = []
    for case in cases:
        exceed, worst, cost = PUBLISHED[case][PUBLISHED_PAIR]
        days = study.found[case][PUBLISHED_PAIR]
        costs = [day.cost for day in days]
        holds = cost is not None and min(costs) <= cost <= max(costs)
        found.append(
            Claim(
                case.split(",")[0],
                f"{exceed:.1%} large errors, worst Q {worst:g}, ${cost}",
                f"{case}: {exceed:.1%} of the time with a large error, worst average degradation {worst:g}, ${cost}",
                f"{max(d.exceed for d in days):.1%} at most, worst {max(d.worst for d in days):.2f}, "
                f"${min(costs):.0f}…{max(costs):.0f}",
                holds=bool(holds),
                because=""
                if holds
                else "the days are generated, with the published machine and a load like that day's",
            )
        )
    return found


def _ours(study: Study) -> list[Claim]:
    """Return the statements about our own pair."""
    found = []
    for case, by in study.found.items():
        theirs, ours = by[PUBLISHED_PAIR], by[OURS.name]
        ratio = mean_cost(ours) / mean_cost(theirs)
        good = met(ours) == len(ours) and ratio <= 0.95
        if case == THETA:
            because = (
                "the machine is full and half of its jobs last less than half an hour: without a market, with EASY "
                "and full "
                f"power, the worst average is {max(o.worst for o in by[OUT.name]):.0f}"
            )
        else:
            because = CONGESTION
        found.append(
            Claim(
                "ours",
                f"{case}: both met, ≥ 5 % cheaper",
                f"{OURS.name} meets both constraints on {case} and costs at least 5 % less than {PUBLISHED_PAIR}",
                f"meets both on {met(ours)} of {len(ours)} days ({PUBLISHED_PAIR}: {met(theirs)}), cost × {ratio:.2f}",
                holds=good,
                because="" if good else because,
            )
        )
    return found
