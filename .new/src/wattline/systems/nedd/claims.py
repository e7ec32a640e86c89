"""What the text says of congestion and of network-data-driven placement, and what our packets say.

Every statement is told once and judged on one machine at one crossbar speed; whether it also holds on the others stands
beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from wattline.arrays import Floats
from wattline.physics.packets.metrics import correlation
from wattline.systems.nedd.apps import APPLICATIONS, BY_CALLS, SENSITIVE, WHOLE
from wattline.systems.nedd.cases import ALONE, POLICIES, SETTINGS, Study
from wattline.systems.reproduction import Claim

INSENSITIVE, HEAVY = ("Graph500", "HPCG"), ("HACC", "LAMMPS", "MILC", "miniAMR", "miniMD")
PUBLISHED = {"Random": 0.30, "Low-Stall": 0.29, "Fewer-Router": 0.07}
"""How much less time miniMD takes under Low-Traffic than under three policies, published."""
FELT = 0.10
"""A slowdown that is felt."""
Case = tuple[str, float]
"""A machine and a crossbar speed."""
Check = Callable[[Case], tuple[str, bool]]


def claims(study: Study) -> Iterator[Claim]:
    """Yield all statements with verdicts."""
    yield from _impact(study)
    yield from _metrics(study)
    yield from _placement(study)
    yield _order(study)


def cases_of(study: Study) -> list[Case]:
    """Return the machines and speeds that were tried; the first one decides."""
    return [(machine, speed) for machine in study.scale.machines for speed in study.scale.speeds(machine)]


def told_case(case: Case) -> str:
    """Return a machine and a crossbar speed in words."""
    return f"{case[0]}, crossbar {case[1]:g}"


def judged(study: Study, where: str, short: str, statement: str, check: Check, because: str = "") -> Claim:
    """Check a statement where statements are judged; say of the other machines and speeds whether it holds there."""
    first, *others = cases_of(study)
    told, holds = check(first)
    held: dict[bool, list[str]] = {True: [], False: []}
    for case in others:
        try:
            held[check(case)[1]].append(told_case(case))
        except KeyError:  # not everything is done everywhere
            continue
    more = [f"{word} {'; '.join(held[good])}" for good, word in ((True, "also"), (False, "not")) if held[good]]
    ours = told + (f" ({' | '.join(more)})" if more else "")
    return Claim(where, short, statement, ours, bool(holds), "" if holds else because)


def slowdown(study: Study, case: Case, app: str, *, endpoint: bool) -> float:
    """Return the median time of setting IV over that of II, or of III over I, minus 1."""
    found = study.of("settings", *case, app)
    with_it, without = (SETTINGS[3], SETTINGS[1]) if endpoint else (SETTINGS[2], SETTINGS[0])
    return float(np.median(found[f"{with_it}: time"]) / np.median(found[f"{without}: time"])) - 1


def against(found: Mapping[str, Floats], a: str, b: str) -> tuple[float, float]:
    """Return the change of the mean time from b to a, and half its 95 % interval (seeds paired)."""
    x, y = found[a], found[b]
    ratio = float(x.mean() / y.mean())
    error = float((x - ratio * y).std(ddof=1) / y.mean() / np.sqrt(x.size))
    return ratio - 1, 1.96 * error


def by_setting(study: Study, machine: str, speed: float, app: str, metric: str) -> tuple[Floats, Floats]:
    """Return means over rotations of a metric and of the time, one a setting."""
    found = study.of("settings", machine, speed, app)
    return tuple(np.array([found[f"{s}: {what}"].mean() for s in SETTINGS]) for what in (metric, "time"))  # type: ignore[return-value]


def reading(study: Study, name: str, how: str) -> float | None:
    """Return the slowdown of an application beside a congestor by a reading of its profile, where it was tried."""
    case = cases_of(study)[0]
    found = study.found.get(("reading", *case, f"{name}, {how}", "scattered"))
    return None if found is None else float(np.median(found["slowdown"])) - 1


def _readings(study: Study, name: str) -> str:
    both = {how: reading(study, name, how) for how in (BY_CALLS, WHOLE)}
    return ", ".join(f"{how} {x:+.0%}" for how, x in both.items() if x is not None)


def _impact(study: Study) -> Iterator[Claim]:
    yield from _slowdowns(study)
    yield from _distance(study)
    yield from _rule(study)


def _slowdowns(study: Study) -> Iterator[Claim]:
    """Statements on how much longer applications take beside a congestor (Fig. 3.17)."""
    apps = study.scale.applications

    def felt(names: tuple[str, ...], low: float, high: float) -> Check:
        def check(case: Case) -> tuple[str, bool]:
            got = {n: slowdown(study, case, n, endpoint=True) for n in names if n in apps}
            return ", ".join(f"{n} {x:+.0%}" for n, x in got.items()), all(low <= x <= high for x in got.values())

        return check

    yield judged(
        study,
        "Fig. 3.17",
        "Graph500, HPCG < 10 %",
        "with a congestor next to it (setting IV over II), the median time of Graph500 and HPCG grows by less than "
        "10 %",
        felt(INSENSITIVE, -1, FELT),
        f"by the reading of its collectives Graph500 takes {_readings(study, 'Graph500')} longer",
    )
    yield judged(
        study,
        "Fig. 3.17",
        "MPI-heavy codes 0.4 to 7 × longer",
        "with a congestor next to it, HACC, LAMMPS, MILC, miniAMR and miniMD take 0.4 to 7 × longer (up to 14 × "
        "counts, since the congestor's strength was chosen)",
        felt(HEAVY, 0.4, 14),
        _bandwidth(study),
    )
    if "QMCPACK" in apps:
        yield _undecided(
            study,
            judged(
                study,
                "Fig. 3.17",
                "QMCPACK +11 %",
                "with a congestor next to it QMCPACK takes 11 % longer (5 to 20 %)",
                felt(("QMCPACK",), 0.05, 0.20),
                "its long vectors lose bandwidth, not more",
            ),
        )


def _distance(study: Study) -> Iterator[Claim]:
    """Statements on a congestor on an application's own routers against one elsewhere (§3.6.2)."""
    apps = study.scale.applications

    def nearer(case: Case) -> tuple[str, bool]:
        got = {n: [slowdown(study, case, n, endpoint=e) for e in (True, False)] for n in apps if n in SENSITIVE}
        told = ", ".join(f"{n} {x:+.0%} against {y:+.0%}" for n, (x, y) in got.items())
        return told, all(x > y for x, y in got.values())

    yield judged(
        study,
        "§3.6.2",
        "sharing routers is worse than sharing links",
        "sensitive applications suffer more from a congestor on their own routers (IV over II) than from one "
        "elsewhere (III over I)",
        nearer,
        "an application loses less there than the medians of ten rotations differ",
    )
    if "MILC" in apps:

        def far(case: Case) -> tuple[str, bool]:
            got = {n: slowdown(study, case, n, endpoint=False) for n in apps}
            told = ", ".join(f"{n} {x:+.0%}" for n, x in got.items())
            return told, {n for n, x in got.items() if x > FELT} == {"MILC", "miniMD"}

        yield judged(
            study,
            "§3.6.2",
            "from afar only MILC and miniMD suffer",
            "of a congestor on other routers (III over I) only MILC and miniMD take more than 10 % longer",
            far,
            "what passes by makes small messages wait: applications of small ones feel it first, those of large ones "
            "lose a part of links that they have several of",
        )


def _rule(study: Study) -> Iterator[Claim]:
    """State by which shares of its time an application is told to be sensitive (§3.6.2)."""
    apps = study.scale.applications

    def rule(case: Case) -> tuple[str, bool]:
        slow = {n: slowdown(study, case, n, endpoint=True) for n in apps}
        wrong = [f"{n} ({x:+.0%})" for n, x in slow.items() if APPLICATIONS[n].profile.sensitive != (x > FELT)]
        said = f"{len(apps) - len(wrong)} of {len(apps)} as the rule says"
        return said + (f"; not {', '.join(wrong)}" if wrong else ""), not wrong

    yield judged(
        study,
        "§3.6.2",
        "sensitive: collectives > 5 % or waiting",
        "who spends more than 5 % of its time in collectives, or waits for messages, slows down by more than 10 % "
        "beside a congestor; others do not",
        rule,
        "the rule counts time, not what is sent: QMCPACK's 6 % in MPI would have to take three times as long, and long "
        f"vectors do not; {_readings(study, 'QMCPACK')}",
    )


def _undecided(study: Study, claim: Claim) -> Claim:
    """Leave the verdict on QMCPACK open where it hangs on how much of its collectives is waiting."""
    both = [reading(study, "QMCPACK", how) for how in (BY_CALLS, WHOLE)]
    if len({0.05 <= x <= 0.20 for x in both if x is not None}) < 2:
        return claim
    because = (
        "how much of its long allreduces is waiting for the slowest task is not published, and the verdict hangs on "
        f"it: {_readings(study, 'QMCPACK')}"
    )
    return replace(claim, holds=None, because=because)


def _bandwidth(study: Study) -> str:
    """Say how the slowdowns of applications go with their messages, as measured."""
    case = cases_of(study)[0]
    sizes = {n: APPLICATIONS[n].message_bytes for n in HEAVY if n in study.scale.applications}
    if len(sizes) < 3:
        return "few applications were tried"
    slow = {n: slowdown(study, case, n, endpoint=True) for n in sizes}
    small, large = (pick(sizes, key=lambda n: sizes[n]) for pick in (min, max))
    return (
        f"small messages wait behind the congestor's, large ones lose bandwidth: {small} ({sizes[small]:,} B) "
        f"{slow[small]:+.0%}, {large} ({sizes[large]:,} B) {slow[large]:+.0%}"
    )


def _metrics(study: Study) -> Iterator[Claim]:
    def correlated(metric: str, sign: int) -> Check:
        def check(case: Case) -> tuple[str, bool]:
            got = {n: correlation(*by_setting(study, *case, n, metric)) for n in study.scale.applications}
            return ", ".join(f"{n} {x:+.2f}" for n, x in got.items()), all(sign * x > 0 for x in got.values())

        return check

    mixed = (
        "where the congestor hardly slows the application, what remains is that spaced nodes have more links of their "
        "own"
    )
    yield judged(
        study,
        "Fig. 3.18",
        "ntile stall/flit ratio follows run time",
        "over the four settings the stall/flit ratio of network tiles is positively correlated with execution time, "
        "for every application",
        correlated("ntile ratio", 1),
        mixed,
    )
    yield judged(
        study,
        "Fig. 3.19",
        "ntile stalls follow run time",
        "over the four settings stalls per second of network tiles are positively correlated with execution time, for "
        "every application",
        correlated("ntile stalls", 1),
        mixed,
    )
    yield Claim(
        "Fig. 3.19",
        "ptile stalls against it",
        "over the four settings stalls per second of processor tiles are negatively correlated with execution time",
        correlated("ptile stalls", -1)(cases_of(study)[0])[0] + " (of what nodes send)",
        holds=None,
        because="the text counts flits that wait to enter a node; nodes here take whatever their link brings, and how "
        "fast those of the text take it is not published",
    )
    yield judged(
        study,
        "§3.6.3",
        "ptile flits fall as time grows",
        "over the four settings slower applications receive fewer flits per second",
        correlated("ptile flits", -1),
        mixed,
    )

    def stronger(case: Case) -> tuple[str, bool]:
        rows = [study.of("alone", *case, str(size)) for size in study.scale.sizes]
        x, y = (np.concatenate([row[name] for row in rows]) for name in ("ntile ratio", "bandwidth"))
        span = ", ".join(
            f"{size} nodes {row['bandwidth'].mean():.2f} at {row['ntile ratio'].mean():.2f}"
            for size, row in zip(study.scale.sizes, rows, strict=True)
        )
        r = correlation(x, y)
        return f"correlation {r:+.2f} ({span})", r < 0

    yield judged(
        study,
        "Fig. 3.20",
        "ratio grows with the congestor",
        "the canary's bandwidth ratio beside congestors of 16 to 128 nodes falls as the stall/flit ratio grows",
        stronger,
        "the congestor's nodes are a part of its own machine here: a small one is not a weak one to a canary on the "
        "same routers",
    )


def _placement(study: Study) -> Iterator[Claim]:
    def versus(app: str, other: str, layout: str = "scattered") -> Check:
        def check(case: Case) -> tuple[str, bool]:
            change, wide = against(study.of("placed", *case, app, layout), "Low-Traffic", other)
            return f"{change:+.1%} ± {wide:.1%}", change + wide < 0

        return check

    for other, published in PUBLISHED.items():
        yield judged(
            study,
            "Fig. 3.24",
            f"miniMD, NeDD vs {other}: −{published:.0%}",
            f"miniMD takes less time with Low-Traffic (NeDD for sensitive jobs) than with {other}: published "
            f"{published:.0%} less (any reduction beyond the interval)",
            versus("miniMD", other),
            _why(study, other),
        )
    for app in study.scale.placed:
        if app in SENSITIVE and app != "miniMD":
            yield judged(
                study,
                "Fig. 3.24",
                f"{app}: NeDD beats Random",
                f"{app}, a sensitive application, takes less time with Low-Traffic than with Random (beyond the "
                "interval)",
                versus(app, "Random"),
                _lost(study, app),
            )
    if "pieces" in study.scale.layouts:
        yield judged(
            study,
            "ours",
            "congestor in pieces: NeDD beats Random",
            "miniMD takes less time with Low-Traffic than with Random also where the congestor holds pieces of eight "
            "neighbouring nodes (beyond the interval)",
            versus("miniMD", "Random", "pieces"),
            _lost(study, "miniMD", "pieces"),
        )

    def longest(case: Case) -> tuple[str, bool]:
        found = study.of("placed", *case, "miniMD")
        x = float(found["Random"].mean() / found[ALONE].mean())
        return f"{x:.2f} ×", x >= 2.5

    yield judged(
        study,
        "§3.8.2",
        "miniMD: Random up to 5 × No-Congestor",
        "congestion makes miniMD up to 5 × as long (mean of Random over that of No-Congestor; 2.5 × at least)",
        longest,
        _small(study),
    )

    def indifferent(case: Case) -> tuple[str, bool]:
        found = study.of("placed", *case, "HPCG")
        means = {name: float(found[name].mean() / found[ALONE].mean() - 1) for name in POLICIES}
        return f"{min(means.values()):+.1%} to {max(means.values()):+.1%}", max(abs(x) for x in means.values()) < 0.03

    yield judged(
        study,
        "Fig. 3.24",
        "HPCG indifferent (< 3 %)",
        "HPCG takes as long with every policy, High-Traffic included, as without a congestor, within 3 %",
        indifferent,
        "its exchanges are posted at once and wait for the slowest of 26 messages",
    )


def _why(study: Study, other: str) -> str:
    """Say by what was measured why Low-Traffic does not beat a policy."""
    found = study.of("placed", *cases_of(study)[0], "miniMD")
    if np.array_equal(found["Low-Traffic"], found[other]):
        return f"both took the same nodes in all {found[other].size} seeds: enough routers were wholly idle"
    shared = {name: float(found[f"{name}: shared"].mean()) for name in ("Low-Traffic", other, "Random")}
    return (
        f"{other} avoids the congestor's routers, too: it has {shared[other]:.0%} of its nodes there, Low-Traffic "
        f"{shared['Low-Traffic']:.0%}, Random {shared['Random']:.0%}"
    )


def _lost(study: Study, app: str, layout: str = "scattered") -> str:
    """Say how much there is to lose to the congestor."""
    found = study.of("placed", *cases_of(study)[0], app, layout)
    change, wide = against(found, "Random", ALONE)
    return (
        f"{found[ALONE].size} seeds do not tell: with Random it takes {change:+.1%} ± {wide:.1%} longer than without a "
        "congestor, and has the links of more routers"
    )


def _small(study: Study) -> str:
    """Say what smaller messages would lose: LAMMPS's."""
    if "LAMMPS" not in study.scale.placed:
        return "messages of 3 KB are bound by bandwidth"
    found = study.of("placed", *cases_of(study)[0], "LAMMPS")
    x = float(found["Random"].mean() / found[ALONE].mean())
    return f"messages of 3 KB are bound by bandwidth here; with LAMMPS's of 84 B and small allreduces it is {x:.1f} ×"


def _order(study: Study) -> Claim:
    def check(case: Case) -> tuple[str, bool]:
        found = study.of("order", *case, "miniMD and HPCG")
        parts, good = [], False
        for policy in ("Low-Traffic", "Fewer-Router", "NeDD"):
            change, wide = against(found, f"{policy}, sensitive first: miniMD", f"{policy}, insensitive first: miniMD")
            parts.append(f"{policy} {change:+.1%} ± {wide:.1%}")
            good = change + wide < 0 if policy == "Low-Traffic" else good
        other, _ = against(found, "NeDD, sensitive first: HPCG", "Low-Traffic, insensitive first: HPCG")
        return f"miniMD {', '.join(parts)}; HPCG {other:+.1%} with NeDD against Low-Traffic, insensitive first", good

    return judged(
        study,
        "ours",
        "place the sensitive job first",
        "of two jobs that arrive together the sensitive one (miniMD, 32 nodes) gains if it is placed before the "
        "insensitive one (HPCG, 64 nodes) where both are placed by Low-Traffic (beyond the interval)",
        check,
        "who comes later is spread over more routers, and their links are worth as much to an exchange as quiet ones",
    )
