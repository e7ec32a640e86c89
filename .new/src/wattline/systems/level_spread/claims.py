"""What the thesis says of Level-Spread on random workloads, what we find at each crossbar speed, and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wattline.systems.level_spread.cases import (
    BASELINES,
    BEYOND,
    BLIND,
    GROUPING,
    HASTY,
    JOKANOVIC,
    LARGE,
    LEVEL_SPREAD,
    POLICIES,
    SMALL,
    SPREADING,
    Setting,
)
from wattline.systems.level_spread.fixed import fixed_claims
from wattline.systems.level_spread.points import Estimate, Standing, points, standing
from wattline.systems.level_spread.study import Found, Study
from wattline.systems.reproduction import Claim

SINGLE = {"all-to-all": 0.01, "halo3d": 0.01, "halo3d26": 0.03, "halo2d": 0.04, "broadcast": 0.08}
"""Published shares of (baseline, workload) in which a baseline is strictly better, by the only pattern."""

BEHIND = (
    "large jobs get the lowest free nodes of every group, which hang on the same routers; random nodes share the "
    "routers' links evenly"
)
SQUEEZED = (
    "large jobs placed first take nodes of every group and leave small ones no whole group, as the text warns; "
    "Jokanovic packs them at one end"
)


def claims(study: Study) -> Iterator[Claim]:
    """Yield all statements with verdicts; the tolerance of each is in its sentence."""
    for crossbar in study.scale.crossbars:
        where = f"crossbar {crossbar:g}"
        yield from fixed_claims(study, crossbar)
        base = Setting(crossbar=crossbar)
        if base in study.found:
            yield from _random(study.found[base], where)
        yield from _single(study, base, where)
        late = replace(base, large_first=True)
        if base in study.found and late in study.found:
            yield from _adverse(study.found[base], study.found[late], where)
        yield from _jokanovic(study, base, where)
        yield from _beyond(study, base, where)
    yield from _variants(study)


def _random(found: Found, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.10."""
    s = standing(found)
    yield Claim(
        where,
        "59 % strictly better",
        "Fig. 3.10: Level-Spread is strictly better than a baseline, for small and for large jobs, in 59 % of cases "
        "(within 10 points beside our interval)",
        f"{s.better.percent()} of cases; better for small jobs only {s.only_small.mean:.1%}, for large ones only "
        f"{s.only_large.mean:.1%}",
        holds=abs(s.better.mean - 0.59) <= 0.10 + s.better.wide,
    )
    by = {p: standing(found, (p,)).worse.mean for p in BASELINES}
    worst = max(by, key=lambda p: by[p])
    yield Claim(
        where,
        "3 % strictly worse",
        "Fig. 3.10: a baseline is strictly better than Level-Spread, for small and for large jobs, in 3 % of cases (at "
        "most in 6 %)",
        f"{s.worse.percent()} of cases; most against {worst} ({by[worst]:.1%})",
        holds=s.worse.mean <= 0.06,
        because="" if s.worse.mean <= 0.06 else BEHIND,
    )
    yield Claim(
        where,
        "−16 % on average",
        "Fig. 3.10: communication time falls by 16 % on average over small and large jobs, baselines and workloads "
        "(within 5 points beside our interval)",
        f"−{s.reduction.percent()}: small jobs −{s.of_small.percent()}, large ones −{s.of_large.percent()}".replace(
            "−-", "+"
        ),
        holds=abs(s.reduction.mean - 0.16) <= 0.05 + s.reduction.wide,
    )
    yield Claim(
        where,
        "−71 % at best",
        "Fig. 3.10: communication time falls by 71 % in the best case (within 10 points)",
        f"−{s.best:.0%} as the mean of both sizes, −{s.best_single:.0%} for one of them",
        holds=abs(s.best - 0.71) <= 0.10,
        because="" if s.best >= 0.61 else f"it is the best of {found.time_s.shape[1]} workloads, published of 1000",
    )
    yield _strategies(found, where)


def _strategies(found: Found, where: str) -> Claim:
    """Groupers are good to small jobs and bad to large ones, spreaders the other way round."""
    told, holds = [], True
    for name, policies, good, bad in (
        ("grouping", GROUPING, SMALL, LARGE),
        ("spreading", SPREADING, LARGE, SMALL),
    ):
        by = points(found, policies)
        mean = {size: Estimate.of(np.exp(np.log(by[size]).mean(axis=0))) for size in (SMALL, LARGE)}
        told.append(
            f"{name}: small {mean[SMALL].mean:.2f}, large {mean[LARGE].mean:.2f} of Level-Spread's time (± "
            f"{max(m.wide for m in mean.values()):.2f})"
        )
        holds = holds and mean[bad].mean > mean[good].mean and mean[bad].mean > 1.05
    return Claim(
        where,
        "grouping suits small, spreading large jobs",
        "Fig. 3.10: grouping policies favour small jobs over large ones, spreading policies large ones over small ones "
        "(the others take more than 5 % longer than with Level-Spread)",
        "; ".join(told),
        holds=bool(holds),
    )


def _single(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield the random workloads of a single pattern."""
    found = {
        pattern: standing(study.found[replace(base, pattern=pattern)])
        for pattern in SINGLE
        if replace(base, pattern=pattern) in study.found
    }
    if not found:
        return
    holds = {pattern: s.worse.mean <= max(0.06, 2 * SINGLE[pattern]) for pattern, s in found.items()}
    beyond = [pattern for pattern, fine in holds.items() if not fine]
    yield Claim(
        where,
        "single patterns: 1 to 8 % strictly worse",
        "§3.4.4, workloads of one pattern: a baseline is strictly better in "
        + ", ".join(f"{share:.0%} ({pattern})" for pattern, share in SINGLE.items())
        + " (at most in twice as many, or in 6 %)",
        ", ".join(f"{pattern} {s.worse.percent()} (better in {s.better.mean:.0%})" for pattern, s in found.items()),
        holds=not beyond,
        because=f"more than 6 % and twice the published share for {', '.join(beyond)}" if beyond else "",
    )


def _adverse(first: Found, late: Found, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.11: large jobs placed first."""
    small_first, large_first = (np.log(points(found, SPREADING)[SMALL]).mean() for found in (first, late))
    all_first, all_late = (np.log(points(found)[SMALL]).mean() for found in (first, late))
    yield Claim(
        where,
        "large jobs first: points move left",
        "Fig. 3.11: placing large jobs first moves the baselines' small-job times to the left, towards Level-Spread's",
        f"small-job times over Level-Spread's, geometric mean: spreading {np.exp(small_first):.2f} → "
        f"{np.exp(large_first):.2f}, all baselines {np.exp(all_first):.2f} → {np.exp(all_late):.2f}",
        holds=bool(large_first < small_first and all_late < all_first),
    )
    s = standing(late)
    holds = s.reduction.mean + s.reduction.wide >= 0 and s.better.mean > s.worse.mean
    by = {p: standing(late, (p,)) for p in BASELINES}
    behind = [
        f"{p} ({b.worse.mean:.0%} against {b.better.mean:.0%})" for p, b in by.items() if b.worse.mean > b.better.mean
    ]
    yield Claim(
        where,
        "large jobs first: at least as good as the baselines",
        "Fig. 3.11: with large jobs placed first Level-Spread performs at least as well as the baselines (not slower "
        "on average, and strictly better in more cases than strictly worse)",
        f"−{s.reduction.percent()} on average, strictly better in {s.better.percent()}, strictly worse in "
        f"{s.worse.percent()}".replace("−-", "+"),
        holds=bool(holds),
        because=f"more often strictly worse than better against {', '.join(behind)}: {BEHIND}"
        if behind
        else ""
        if holds
        else BEHIND,
    )


def _jokanovic(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Figs. 3.12 and 3.13."""
    for large_first, figure, order in ((False, "3.12", "small jobs first"), (True, "3.13", "large jobs first")):
        found = study.found.get(replace(base, large_first=large_first))
        if found is None:
            continue
        by = {name: standing(found, (name,)) for name in JOKANOVIC}
        text = by["Jokanovic"]
        told = "; ".join(
            f"{'as the text has it' if name == 'Jokanovic' else 'as released'}: strictly better in "
            f"{s.better.percent()}, strictly worse in {s.worse.percent()}, large jobs −{s.of_large.mean:.1%}, "
            "small jobs "
            f"−{s.of_small.mean:.1%}".replace("−-", "+")
            for name, s in by.items()
        )
        if large_first:
            published, holds = "more workloads than it is strictly worse in", text.better.mean > text.worse.mean
            because = SQUEEZED if text.of_small.mean < 0 or not holds else ""
        else:
            published = (
                "64 % of workloads (within 10 points beside our interval) and strictly worse in none (at most in 2 %)"
            )
            holds = abs(text.better.mean - 0.64) <= 0.10 + text.better.wide and text.worse.mean <= 0.02
            because = "" if holds else _released(by["Jokanovic, released"])
        yield Claim(
            where,
            f"Jokanovic, {order}: " + ("64 % / 0 %" if not large_first else "still better"),
            f"Fig. {figure}: against Jokanovic's policy, {order}, Level-Spread is strictly better in {published}",
            told,
            holds=bool(holds),
            because=because,
        )


def _released(released: Standing) -> str:
    """Say whether the released code, which overwrites the group found for a small job, explains the figure."""
    near = abs(released.better.mean - 0.64) <= 0.10 and released.worse.mean <= 0.02
    told = (
        f"against the released code, which overwrites the group found for a small job, it is {released.better.mean:.0%}"
    )
    return told + ("; the figure most likely is the code's" if near else "")


def _beyond(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield how our own policy does."""
    for large_first in (False, True):
        found = study.found.get(replace(base, large_first=large_first))
        if found is None:
            continue
        order = "large jobs first" if large_first else "small jobs first"
        by = {name: standing(found, (LEVEL_SPREAD,), name) for name in (BEYOND, BLIND, HASTY)}
        s = by[BEYOND]
        told = (
            f"small jobs {_less(s.of_small)}, large ones {_less(s.of_large)}; strictly better in "
            f"{s.better.percent()}, strictly worse in {s.worse.percent()}"
        )
        told += (
            f"; on average {_less(s.reduction)}, without knowing what jobs send {_less(by[BLIND].reduction)}, "
            f"without knowing who is placed next {_less(by[HASTY].reduction)}"
        )
        holds = s.reduction.mean > s.reduction.wide and s.better.mean > s.worse.mean
        yield Claim(
            where,
            f"Least-Contention, {order}",
            f"ours: Least-Contention, {order}, takes less time than Level-Spread (beyond the interval, and strictly "
            "better in more workloads than strictly worse)",
            told,
            holds=holds,
            because="" if holds or s.reduction.mean < 0 else f"{found.time_s.shape[1]} workloads are too few to tell",
        )


def _less(estimate: Estimate) -> str:
    return f"{-100 * estimate.mean:+.1f} ± {100 * estimate.wide:.1f} %".replace("-", "−")


def _variants(study: Study) -> Iterator[Claim]:
    """Yield what the two readings of Slurm's policy change: nothing, on machines that were empty."""
    order = list(POLICIES)
    a, b = order.index("Slurm"), order.index("Slurm, best fit")
    cases = sum(found.time_s.shape[1] for found in study.found.values())
    other = sum(
        int(np.any(np.nan_to_num(found.time_s[a]) != np.nan_to_num(found.time_s[b]), axis=1).sum())
        for found in study.found.values()
    )
    yield Claim(
        "variants",
        "Slurm: first fit as best fit",
        "ours: the first router that fits (text) and the tightest one (released code) make no difference here",
        f"{other} of {cases:,} workloads differ",
        holds=other == 0,
        because=""
        if other
        else "jobs are placed on an empty machine and none ends: the first router that fits is the tightest",
    )
