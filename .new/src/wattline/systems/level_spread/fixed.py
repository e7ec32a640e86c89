"""What the thesis says of Level-Spread on workloads of 16-node, 64-node and quarter-machine jobs, and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from wattline.systems.level_spread.cases import GROUPING, LARGE, LEVEL_SPREAD, POLICIES, SMALL, SPREADING, Setting
from wattline.systems.level_spread.study import Found, Study
from wattline.systems.reproduction import Claim

EIGHT = (LEVEL_SPREAD, *GROUPING, *SPREADING)
NEAR = 0.1
"""Level-Spread *coincides* with another strategy if it is at most so much slower."""

By = dict[tuple[str, float], Found]


def fixed_claims(study: Study, crossbar: float) -> Iterator[Claim]:
    """Yield the statements of §3.2.1 and §§3.4.1 to 3.4.3 at a crossbar speed."""
    base, where = Setting(crossbar=crossbar), f"crossbar {crossbar:g}"
    yield from _motivation(study, base, where)
    yield from _sixteen(study, base, where)
    yield from _sixty_four(study, base, where)
    yield from _mixed(study, base, where)
    yield from _machines(study, base, where)
    yield from _links(study, base, where)
    if crossbar == study.scale.crossbars[0]:
        yield from _quarter(study, base, where)
        yield from _used(study, base, where)
        yield from _messages(study, base, where)


def by_pattern(study: Study, base: Setting) -> dict[str, Found]:
    """Return what was found in a setting by pattern."""
    return {
        pattern: study.found[replace(base, pattern=pattern)]
        for pattern in study.scale.patterns
        if replace(base, pattern=pattern) in study.found
    }


def by_ratio(study: Study, base: Setting) -> By:
    """Return what was found in a setting by pattern and link ratio."""
    return {
        (pattern, ratio): found
        for ratio in study.scale.ratios
        for pattern, found in by_pattern(study, replace(base, ratio=ratio)).items()
    }


def _span(values: Sequence[float]) -> str:
    return f"{min(values):+.0%} to {max(values):+.0%}"


def _motivation(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.2."""
    small, large = (by_pattern(study, replace(base, workload=w)) for w in ("17x16", "4x68"))
    if not small or not large:
        return
    grouped = {pattern: found.mean_over("RDG", SMALL, "RDN") - 1 for pattern, found in small.items()}
    spread = {pattern: found.mean_over("RDN", LARGE, "RDG") - 1 for pattern, found in large.items()}
    mean = float(np.mean(list(spread.values())))
    holds = max(grouped.values()) < 0 and abs(mean + 0.30) <= 0.10
    yield Claim(
        where,
        "4 × 68 nodes: RDN −30 %",
        "Fig. 3.2: seventeen 16-node jobs are faster with RDG than with RDN, for every pattern; four 68-node jobs take "
        "30 % less with RDN than with RDG (on average over patterns, within 10 points)",
        f"16 nodes: RDG {_span(list(grouped.values()))}; 68 nodes: RDN {mean:+.0%} on average over patterns "
        f"({', '.join(f'{p} {v:+.0%}' for p, v in spread.items())})",
        holds=holds,
        because="" if holds else _off(grouped, spread),
    )


def _off(grouped: dict[str, float], spread: dict[str, float]) -> str:
    not_small = [pattern for pattern, value in grouped.items() if value >= 0]
    return (
        f"16-node jobs are not faster with RDG for {', '.join(not_small)}"
        if not_small
        else "the direction holds for " + (", ".join(p for p, v in spread.items() if v < 0) or "no pattern")
    )


def _sixteen(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.4(a)."""
    by = by_ratio(study, replace(base, workload="16"))
    if not by:
        return
    less = {
        (key, g, s): found.mean_over(g, SMALL, s) - 1
        for key, found in by.items()
        for g in (LEVEL_SPREAD, *GROUPING)
        for s in SPREADING
    }
    against = [key for key, value in less.items() if value >= 0]
    yield Claim(
        where,
        "16-node jobs: −15 to −89 %",
        "Fig. 3.4(a): Level-Spread, Simple, Slurm and RDG take less time than RDR, RRR, RDN and RRN for 16-node jobs, "
        "in at least 95 % of comparisons (published: 15 to 89 % less)",
        f"{_span(list(less.values()))} over patterns, link ratios and pairs of policies; "
        + ", ".join(
            f"{_span([v for ((_, r), _, _), v in less.items() if r == ratio])} at ratio {ratio:g}"
            for ratio in study.scale.ratios
        ),
        holds=len(against) <= 0.05 * len(less),
        because=_which([f"{p} at ratio {r:g} ({g} against {s})" for ((p, r), g, s) in against], len(less)),
    )


def _which(names: list[str], of: int) -> str:
    return (
        f"{len(names)} of {of} the other way round: {', '.join(names[:4])}{' …' if len(names) > 4 else ''}"
        if names
        else ""
    )


def _sixty_four(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.4(b), and that differences fall as global links get faster."""
    by = by_ratio(study, replace(base, workload="64"))
    if not by:
        return
    level = {
        pattern: found.mean_over(LEVEL_SPREAD, LARGE, "Simple") - 1
        for (pattern, ratio), found in by.items()
        if ratio == 1
    }
    yield Claim(
        where,
        "64-node jobs: −22 to −54 % vs Simple",
        "Fig. 3.4(b): at ratio 1 Level-Spread takes 22 to 54 % less than Simple for 64-node jobs (at least half of 22 "
        "% for every pattern)",
        ", ".join(f"{pattern} {value:+.0%}" for pattern, value in level.items()),
        holds=max(level.values()) <= -0.11,
        because=""
        if max(level.values()) <= -0.11
        else f"below for {', '.join(p for p, v in level.items() if v <= -0.11) or 'no pattern'}; {_why_large(by)}",
    )
    less = {
        (key, s, g): found.mean_over(s, LARGE, g) - 1
        for key, found in by.items()
        for s in (LEVEL_SPREAD, *SPREADING)
        for g in GROUPING
    }
    against = [key for key, value in less.items() if value >= 0]
    yield Claim(
        where,
        "64-node jobs: spreaders beat groupers",
        "Fig. 3.4(b): Level-Spread, RDR, RRR, RDN and RRN outperform Simple, Slurm and RDG for 64-node jobs, at every "
        "ratio and pattern (in at least 95 % of comparisons)",
        f"{1 - len(against) / len(less):.0%} of {len(less)} comparisons; {_span(list(less.values()))}",
        holds=len(against) <= 0.05 * len(less),
        because=_which([f"{p} at ratio {r:g} ({s} against {g})" for ((p, r), s, g) in against], len(less)),
    )
    if len(study.scale.ratios) > 1:
        yield _narrowing(study, base, where)


def _why_large(by: By) -> str:
    found = next(f for (_, ratio), f in by.items() if ratio == 1)
    ours = {s: found.mean_over(s, LARGE) for s in SPREADING}
    best = min(ours, key=lambda s: ours[s])
    return f"{best} takes {ours[best]:.2f} of Level-Spread's time, whose lowest nodes of every group share routers"


def _narrowing(study: Study, base: Setting, where: str) -> Claim:
    """Differences among policies shrink from ratio to ratio."""
    workloads = (("16", SMALL), ("64", LARGE))
    by = {
        (w, r): by_pattern(study, replace(base, workload=w, ratio=r)) for w, _ in workloads for r in study.scale.ratios
    }
    shared = set.intersection(*(set(found) for found in by.values()))
    wide = []
    for ratio in study.scale.ratios:
        of = [
            max(f.mean_over(p, size) for p in EIGHT) / min(f.mean_over(p, size) for p in EIGHT)
            for workload, size in workloads
            for pattern, f in by[workload, ratio].items()
            if pattern in shared
        ]
        wide.append(float(np.exp(np.mean(np.log(of)))))
    return Claim(
        where,
        "faster global links: less difference",
        "Figs. 3.4, 3.7(a): differences among policies fall as global links get faster (by at least 1 % from ratio to "
        "ratio)",
        "slowest over fastest policy, mean over patterns: "
        + ", ".join(f"{w:.2f} at ratio {r:g}" for r, w in zip(study.scale.ratios, wide, strict=True)),
        holds=all(b < 0.99 * a for a, b in pairwise(wide)),
        because=""
        if wide[-1] < 0.99 * wide[-2]
        else "beyond the speed of local links, crossbars of that speed hold faster global links back",
    )


def _mixed(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.7(a)."""
    by = by_ratio(study, replace(base, workload="16+64"))
    if not by:
        return
    small = {key: found.mean_over(LEVEL_SPREAD, SMALL, "Simple") - 1 for key, found in by.items()}
    large = {
        key: float(found.of(LEVEL_SPREAD, LARGE).mean() / np.mean([found.of(s, LARGE).mean() for s in SPREADING]) - 1)
        for key, found in by.items()
    }
    yield Claim(
        where,
        "mixed: small jobs as with groupers",
        "Fig. 3.7(a): 16-node jobs beside 64-node jobs take as long with Level-Spread as with Simple, which places "
        "them as Slurm and RDG do (at most 10 % longer, for every pattern and ratio)",
        f"{_span(list(small.values()))} against Simple",
        holds=max(small.values()) <= NEAR,
        because=_which([f"{p} at ratio {r:g} {v:+.0%}" for (p, r), v in small.items() if v > NEAR], len(small)),
    )
    yield Claim(
        where,
        "mixed: large jobs as with spreaders",
        "Fig. 3.7(a): the 64-node jobs take in general as long with Level-Spread as with RDR, RRR, RDN and RRN (at "
        "most 10 % longer than their mean, in at least nine of ten patterns and ratios)",
        f"{_span(list(large.values()))} against their mean; "
        + ", ".join(
            f"{np.mean([v for (_, r), v in large.items() if r == ratio]):+.0%} at ratio {ratio:g}"
            for ratio in study.scale.ratios
        ),
        holds=float(np.mean([v > NEAR for v in large.values()])) <= 0.1,
        because=_which([f"{p} at ratio {r:g} {v:+.0%}" for (p, r), v in large.items() if v > NEAR], len(large)),
    )


def _machines(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Fig. 3.7(b)."""
    by = {m: by_pattern(study, replace(base, workload="16+64", machine=m)) for m in study.scale.machines}
    big = by.get(1056)
    if not big:
        return
    less = {
        p: float(f.of(LEVEL_SPREAD, SMALL).mean() / np.mean([f.of(s, SMALL).mean() for s in SPREADING]) - 1)
        for p, f in big.items()
    }
    yield Claim(
        where,
        "1056 nodes: 16-node jobs −32 to −64 %",
        "Fig. 3.7(b): on 1056 nodes Level-Spread cuts the time of 16-node jobs by 32 % (broadcast) to 64 % "
        "(all-to-all; at least half of 32 % for every pattern)",
        "against the mean of the spreaders: " + ", ".join(f"{p} {v:+.0%}" for p, v in less.items()),
        holds=max(less.values()) <= -0.16,
    )
    wide = {
        m: float(
            np.exp(
                np.mean(
                    [
                        np.log(max(f.mean_over(p, size) for p in EIGHT))
                        for f in found.values()
                        for size in (SMALL, LARGE)
                    ]
                )
            )
        )
        for m, found in by.items()
    }
    best = all(
        found.mean_over(p, SMALL) + found.mean_over(p, LARGE) > 2 * (1 - NEAR)
        for per in by.values()
        for found in per.values()
        for p in EIGHT
    )
    yield Claim(
        where,
        "larger machines: more difference",
        "Fig. 3.7(b): Level-Spread outperforms the others on all machines (the mean of small and large jobs' times is "
        "at most 10 % above anybody's), and the difference is larger on 1056 nodes than on 272",
        "slowest policy over Level-Spread, mean over patterns and sizes: "
        + ", ".join(f"{w:.2f} on {m} nodes" for m, w in sorted(wide.items())),
        holds=best and wide[1056] > wide[272],
    )


def _links(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield Figs. 3.5 and 3.6: traffic and stalls on links, all-to-all at ratio 1."""
    order = list(POLICIES)
    small, large = (study.found.get(replace(base, workload=w, pattern="all-to-all")) for w in ("16", "64"))
    if small is None or large is None:
        return

    def mean(
        array: np.ndarray[tuple[int, ...], np.dtype[np.float64]], policies: Sequence[str], what: int
    ) -> list[float]:
        rows = array[[order.index(p) for p in policies]]
        return [float(x) for x in rows.mean(axis=(0, 1))[:, what]]

    grouped, spread = (mean(small.packets, p, 0)[1:] for p in ((LEVEL_SPREAD, *GROUPING), SPREADING))
    held_g, held_s = (sum(mean(small.held_s, p, 0)) for p in ((LEVEL_SPREAD, *GROUPING), SPREADING))
    yield Claim(
        where,
        "16-node jobs: groupers stress links less",
        "Fig. 3.5: with 16-node jobs, Level-Spread and the grouping policies send fewer packets over links and "
        "stall less",
        f"packets a local link {grouped[0]:.0f} against {spread[0]:.0f}, a global link {grouped[1]:.0f} against "
        f"{spread[1]:.0f}; waits at the crossbar a port {1e6 * held_g:.1f} µs against {1e6 * held_s:.1f} µs; "
        f"{_credits(small)}",
        holds=grouped[0] < spread[0] and grouped[1] < spread[1] and held_g < held_s,
    )
    median_g, median_s = (mean(large.packets, p, 3)[1:] for p in (GROUPING, (LEVEL_SPREAD, *SPREADING)))
    most_g, most_s = (mean(large.packets, p, 5)[1:] for p in (GROUPING, (LEVEL_SPREAD, *SPREADING)))
    held_g, held_s = (sum(mean(large.held_s, p, 0)) for p in (GROUPING, (LEVEL_SPREAD, *SPREADING)))
    more, even, fewer = (
        all(s > g for g, s in zip(median_g, median_s, strict=True)),
        all(s < g for g, s in zip(most_g, most_s, strict=True)),
        held_s < held_g,
    )
    yield Claim(
        where,
        "64-node jobs: spreaders balance links",
        "Fig. 3.6: with 64-node jobs, spreading means more packets in the median, less variation, fewer stalls",
        f"grouping → spreading: median packets, local {median_g[0]:.0f} → {median_s[0]:.0f}, global {median_g[1]:.0f} "
        f"→ {median_s[1]:.0f}; busiest link, local {most_g[0]:.0f} → {most_s[0]:.0f}, global {most_g[1]:.0f} → "
        f"{most_s[1]:.0f}; waits at the crossbar a port {1e6 * held_g:.1f} → {1e6 * held_s:.1f} µs; {_credits(large)}",
        holds=more and even and fewer,
        because=", ".join(
            f"not {what}"
            for what, fine in (
                ("more in the median", more),
                ("less on the busiest link", even),
                (
                    "fewer stalls: a crossbar no faster than links makes every hop wait, and spreading takes more hops",
                    fewer,
                ),
            )
            if not fine
        ),
    )


def _credits(found: Found) -> str:
    """Say how long links lacked credits, on average over all policies and ports."""
    return f"links lack credits for {1e6 * float(found.stall_s[:, :, :, 0].mean()):.2f} µs"


def _quarter(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield the quarter-machine jobs."""
    level = {
        m: [f.mean_over(LEVEL_SPREAD, LARGE, "Simple") - 1 for f in found.values()]
        for m in study.scale.machines
        if (found := by_pattern(study, replace(base, workload="quarter", machine=m)))
    }
    if not level:
        return
    every = [v for values in level.values() for v in values]
    yield Claim(
        where,
        "quarter-machine jobs: as 64-node jobs",
        "§3.4.1: four quarter-machine jobs behave as Fig. 3.4(b) on all machines: spreading wins",
        "Level-Spread against Simple: " + ", ".join(f"{m} nodes {_span(values)}" for m, values in level.items()),
        holds=max(every) < 0,
        because=_which([f"{m} nodes" for m, values in level.items() if max(values) >= 0], len(level)),
    )


def _used(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield that use of 70 % in place of 90 % changes little."""
    off = {}
    for workload, sizes in (("16", (SMALL,)), ("64", (LARGE,)), ("16+64", (SMALL, LARGE))):
        less = by_pattern(study, replace(base, workload=workload, used=0.7))
        more = by_pattern(study, replace(base, workload=workload))
        for p in less:
            for size in sizes:
                for policy in EIGHT[1:]:
                    off[workload, p, policy, size] = (
                        less[p].mean_over(policy, size) / more[p].mean_over(policy, size) - 1
                    )
    if not off:
        return
    values = np.array(list(off.values()))
    far = max(off, key=lambda key: abs(off[key]))
    yield Claim(
        where,
        "70 % use as 90 %",
        "§§3.4.1, 3.4.2: a machine used to 70 % instead of 90 % changes relative performance negligibly (by at most "
        "10 % on average)",
        f"times over Level-Spread's change by {np.mean(np.abs(values)):.1%} on average, {off[far]:+.0%} at most "
        f"({far[0]} {far[1]}, {far[2]})",
        holds=bool(np.mean(np.abs(values)) <= 0.1),
    )


def _messages(study: Study, base: Setting, where: str) -> Iterator[Claim]:
    """Yield §3.4.3 and Fig. 3.8."""
    by = {
        mix: by_pattern(study, replace(base, workload="3x16+3x64", small_kib=mix[0], large_kib=mix[1]))
        for mix in study.scale.mixes
    }
    if not all(by.get(mix) for mix in ((1, 1), (100, 100), (1, 100), (100, 1))):
        return
    plain, heavy = by[1, 1], by[100, 100]
    shared = [p for p in plain if p in heavy]
    times = [
        heavy[p].of(LEVEL_SPREAD, s).mean() / plain[p].of(LEVEL_SPREAD, s).mean()
        for p in shared
        for s in (SMALL, LARGE)
    ]
    off = [
        heavy[p].mean_over(q, s) / plain[p].mean_over(q, s) - 1
        for p in shared
        for q in EIGHT[1:]
        for s in (SMALL, LARGE)
    ]
    better = np.mean(
        [
            (heavy[p].mean_over(q, s) > 1) == (plain[p].mean_over(q, s) > 1)
            for p in shared
            for q in EIGHT[1:]
            for s in (SMALL, LARGE)
        ]
    )
    mean = float(np.mean(np.abs(off)))
    yield Claim(
        where,
        "100 KB as 1 KB, 100 × as long",
        "§3.4.3: 100 KB for all jobs instead of 1 KB takes about 100 times as long (50 to 200) and leaves relative "
        "performance as it was (within 10 % on average)",
        f"{min(times):.0f} to {max(times):.0f} × as long; times over Level-Spread's change by {mean:.0%} on average "
        f"({_span(off)}); {better:.0%} of comparisons keep their sign",
        holds=mean <= 0.1 and min(times) >= 50 and max(times) <= 200,
        because=""
        if mean <= 0.1
        else "queues that last make adaptive routing take detours, which evens policies out; with minimal routing 100 "
        "KB is as 1 KB",
    )
    for size, mix, name in ((SMALL, (1, 100), "small"), (LARGE, (100, 1), "large")):
        spread, group = (
            float(
                np.exp(
                    np.mean(
                        [
                            np.log(by[mix][p].of(q, size).mean() / plain[p].of(q, size).mean())
                            for p in by[mix]
                            for q in policies
                        ]
                    )
                )
            )
            for policies in (SPREADING, (LEVEL_SPREAD, *GROUPING))
        )
        other = "large" if size == SMALL else "small"
        yield Claim(
            where,
            f"Fig. 3.8: heavy {other} jobs hurt spread {name} jobs",
            f"Fig. 3.8: {other} jobs with 100 KB instead of 1 KB slow {name} jobs down with spreading policies (by "
            "more than 10 %), less with the others",
            f"{name} jobs take {spread:.2f} × as long with spreading policies, {group:.2f} × with Level-Spread and "
            "groupers",
            holds=spread > group and spread > 1.1,
        )
