"""What the text says of congestion and of network-data-driven placement, what our packets say, and verdicts by crossbar
speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from wattline.arrays import Floats
from wattline.physics.packets.metrics import correlation
from wattline.systems.nedd.apps import APPLICATIONS, SENSITIVE
from wattline.systems.nedd.cases import ALONE, MACHINES, POLICIES, SETTINGS, Study
from wattline.systems.reproduction import Claim

INSENSITIVE, HEAVY = ("Graph500", "HPCG"), ("HACC", "LAMMPS", "MILC", "miniAMR", "miniMD")
PUBLISHED = {"Random": -0.30, "Low-Stall": -0.29, "Fewer-Router": -0.07}
"""Time of miniMD under Low-Traffic against three policies, published."""
FELT = 0.10
"""A slowdown that is felt."""
Check = Callable[[float], tuple[str, bool]]


def claims(study: Study) -> Iterator[Claim]:
    """Yield all statements with verdicts, machine by machine."""
    for machine in study.scale.machines:
        yield from _impact(study, machine)
        yield from _metrics(study, machine)
        yield from _placement(study, machine)
        yield _order(study, machine)


def judged(
    study: Study, machine: str, where: str, short: str, statement: str, check: Check, because: str = ""
) -> Claim:
    """Check a statement at every crossbar speed; it holds where it holds at all of them."""
    found = {speed: check(speed) for speed in study.scale.crossbars}
    told = "; ".join(f"crossbar {speed:g}: {text}" for speed, (text, _) in found.items())
    good = [speed for speed, (_, holds) in found.items() if holds]
    every = len(good) == len(found)
    if not every and good:
        because = f"at crossbar {', '.join(f'{s:g}' for s in good)} it does" + (f"; {because}" if because else "")
    return Claim(where, f"{machine}: {short}", f"{machine}: {statement}", told, every, "" if every else because)


def slowdown(study: Study, machine: str, speed: float, app: str, *, endpoint: bool) -> float:
    """Return the median time of setting IV over that of II, or of III over I, minus 1."""
    found = study.of("settings", machine, speed, app)
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


def _impact(study: Study, machine: str) -> Iterator[Claim]:
    apps = study.scale.applications

    def felt(names: tuple[str, ...], low: float, high: float) -> Check:
        def check(speed: float) -> tuple[str, bool]:
            got = {n: slowdown(study, machine, speed, n, endpoint=True) for n in names if n in apps}
            return ", ".join(f"{n} {x:+.0%}" for n, x in got.items()), all(low <= x <= high for x in got.values())

        return check

    yield judged(
        study,
        machine,
        "Fig. 3.17",
        "Graph500, HPCG < 10 %",
        "with a congestor next to it (setting IV over II), the median time of Graph500 and HPCG grows by less "
        "than 10 %",
        felt(INSENSITIVE, -1, FELT),
    )
    yield judged(
        study,
        machine,
        "Fig. 3.17",
        "MPI-heavy codes 0.4 to 7 × longer",
        "with a congestor next to it, HACC, LAMMPS, MILC, miniAMR and miniMD take 0.4 to 7 × longer (LAMMPS more "
        "than 7 ×)",
        felt(HEAVY, 0.4, 14),
        "an exchange of large messages loses the bandwidth that others take, not more; small messages, which wait "
        "behind theirs, lose far more",
    )
    if "QMCPACK" in apps:
        yield judged(
            study,
            machine,
            "Fig. 3.17",
            "QMCPACK +11 %",
            "with a congestor next to it QMCPACK takes 11 % longer",
            felt(("QMCPACK",), 0.05, 0.20),
            "by its number of calls an allreduce of QMCPACK takes 1.8 ms, mostly waiting for the slowest task, which "
            "the stand-in counts as computation",
        )

    def nearer(speed: float) -> tuple[str, bool]:
        got = {
            n: tuple(slowdown(study, machine, speed, n, endpoint=e) for e in (True, False))
            for n in apps
            if n in SENSITIVE
        }
        return ", ".join(f"{n} {x:+.0%} against {y:+.0%}" for n, (x, y) in got.items()), all(
            x > y for x, y in got.values()
        )

    yield judged(
        study,
        machine,
        "§3.6.2",
        "sharing routers is worse than sharing links",
        "sensitive applications suffer more from a congestor on their own routers (IV over II) than from one "
        "elsewhere (III over I)",
        nearer,
    )
    if "MILC" in apps:

        def far(speed: float) -> tuple[str, bool]:
            got = {n: slowdown(study, machine, speed, n, endpoint=False) for n in apps}
            return ", ".join(f"{n} {x:+.0%}" for n, x in got.items()), {n for n, x in got.items() if x > FELT} == {
                "MILC",
                "miniMD",
            }

        yield judged(
            study,
            machine,
            "§3.6.2",
            "from afar only MILC and miniMD suffer",
            "of a congestor on other routers (III over I) only MILC and miniMD suffer significantly",
            far,
            "a continuous application here keeps to routers and links of its own: what is between other routers "
            "hardly crosses them",
        )

    def rule(speed: float) -> tuple[str, bool]:
        agree = [
            n
            for n in apps
            if APPLICATIONS[n].profile.sensitive == (slowdown(study, machine, speed, n, endpoint=True) > FELT)
        ]
        wrong = [n for n in apps if n not in agree]
        return f"{len(agree)} of {len(apps)} as the rule says" + (
            f"; not {', '.join(wrong)}" if wrong else ""
        ), not wrong

    yield judged(
        study,
        machine,
        "§3.6.2",
        "sensitive: collectives > 5 % or waiting",
        "who spends more than 5 % of its time in collectives, or waits for messages, slows down by more than 10 % "
        "beside a congestor; others do not",
        rule,
        "time in MPI is not time in the network: a rare collective mostly waits for the slowest task",
    )


def _metrics(study: Study, machine: str) -> Iterator[Claim]:
    def correlated(metric: str, sign: int) -> Check:
        def check(speed: float) -> tuple[str, bool]:
            got = {n: correlation(*by_setting(study, machine, speed, n, metric)) for n in study.scale.applications}
            return ", ".join(f"{n} {x:+.2f}" for n, x in got.items()), all(sign * x > 0 for x in got.values())

        return check

    mixed = (
        "where the congestor hardly slows the application, what remains is that spaced nodes have more links of "
        "their own"
    )
    yield judged(
        study,
        machine,
        "Fig. 3.18",
        "ntile stall/flit ratio follows run time",
        "over the four settings the stall/flit ratio of network tiles is positively correlated with execution time, "
        "for every application",
        correlated("ntile ratio", 1),
        mixed,
    )
    yield judged(
        study,
        machine,
        "Fig. 3.19",
        "ntile stalls follow run time",
        "so are stalls per second of network tiles",
        correlated("ntile stalls", 1),
        mixed,
    )
    yield judged(
        study,
        machine,
        "Fig. 3.19",
        "ptile stalls against it",
        "stalls per second of processor tiles are negatively correlated with execution time",
        correlated("ptile stalls", -1),
        "nodes here take whatever their link brings, so that only the other direction can stall, which is where a "
        "congested router makes its own nodes wait",
    )
    yield judged(
        study,
        machine,
        "§3.6.3",
        "ptile flits fall as time grows",
        "slower applications receive fewer flits per second",
        correlated("ptile flits", -1),
        mixed,
    )

    def stronger(speed: float) -> tuple[str, bool]:
        rows = [study.of("alone", machine, speed, str(size)) for size in study.scale.sizes]
        x, y = (np.concatenate([row[name] for row in rows]) for name in ("ntile ratio", "bandwidth"))
        span = ", ".join(
            f"{size} nodes {row['bandwidth'].mean():.2f} at {row['ntile ratio'].mean():.2f}"
            for size, row in zip(study.scale.sizes, rows, strict=True)
        )
        r = correlation(x, y)
        return f"correlation {r:+.2f} ({span})", r < 0

    yield judged(
        study,
        machine,
        "Fig. 3.20",
        "ratio grows with the congestor",
        "the canary's bandwidth ratio beside congestors of 16 to 128 nodes falls as the stall/flit ratio grows",
        stronger,
        "a small congestor is not a weak one here: its nodes are in two groups with a single link between them"
        if MACHINES[machine][2] > 1
        else "links are plenty: the canary keeps its bandwidth beside any of them",
    )


def _placement(study: Study, machine: str) -> Iterator[Claim]:
    def versus(app: str, other: str, layout: str = "scattered") -> Check:
        def check(speed: float) -> tuple[str, bool]:
            change, wide = against(study.of("placed", machine, speed, app, layout), "Low-Traffic", other)
            return f"{change:+.1%} ± {wide:.1%}", change + wide < 0

        return check

    why = {
        "Low-Stall": "stalls also show what passes through a router, the traffic of its nodes does not; and counters "
        "here have no noise of other users",
        "Fewer-Router": "routers with the most idle nodes are those without a congestor: both policies take much the "
        "same ones",
        "Random": "quiet routers are neighbours here, and an exchange gains more from the links of many routers "
        "(setting II is faster than I) than it loses to a congestor",
    }
    for other, published in PUBLISHED.items():
        yield judged(
            study,
            machine,
            "Fig. 3.24",
            f"miniMD, NeDD vs {other}: {published:+.0%}",
            f"miniMD takes {-published:.0%} less time with Low-Traffic (NeDD for sensitive jobs) than with {other}",
            versus("miniMD", other),
            why[other],
        )
    for app in study.scale.placed:
        if app in SENSITIVE and app != "miniMD":
            yield judged(
                study,
                machine,
                "Fig. 3.24",
                f"{app}: NeDD beats Random",
                f"{app}, a sensitive application, takes less time with Low-Traffic than with Random",
                versus(app, "Random"),
                "it loses next to nothing to the congestor, or gains more from the links of many routers",
            )
    if "pieces" in study.scale.layouts:
        yield judged(
            study,
            machine,
            "ours",
            "congestor in pieces: NeDD beats Random",
            "miniMD takes less time with Low-Traffic than with Random also where the congestor holds pieces of eight "
            "neighbouring nodes",
            versus("miniMD", "Random", "pieces"),
            why["Random"],
        )

    def longest(speed: float) -> tuple[str, bool]:
        found = study.of("placed", machine, speed, "miniMD")
        x = float(found["Random"].mean() / found[ALONE].mean())
        return f"{x:.2f} ×", x >= 2.5

    yield judged(
        study,
        machine,
        "§3.8.2",
        "miniMD: Random up to 5 × No-Congestor",
        "congestion makes miniMD up to 5 × as long (Random against No-Congestor)",
        longest,
        "an exchange of 3 KB messages is bound by bandwidth here, and Random spreads it over more links than "
        "No-Congestor, which packs it",
    )

    def indifferent(speed: float) -> tuple[str, bool]:
        found = study.of("placed", machine, speed, "HPCG")
        means = {name: float(found[name].mean() / found[ALONE].mean() - 1) for name in POLICIES}
        return f"{min(means.values()):+.1%} to {max(means.values()):+.1%}", max(abs(x) for x in means.values()) < 0.03

    yield judged(
        study,
        machine,
        "Fig. 3.24",
        "HPCG indifferent (< 3 %)",
        "HPCG takes as long with every policy, High-Traffic included, as without a congestor, within 3 %",
        indifferent,
    )


def _order(study: Study, machine: str) -> Claim:
    def check(speed: float) -> tuple[str, bool]:
        found = study.of("order", machine, speed, "miniMD and HPCG")
        parts, good = [], False
        for policy in ("Low-Traffic", "Fewer-Router", "NeDD"):
            change, wide = against(found, f"{policy}, sensitive first: miniMD", f"{policy}, insensitive first: miniMD")
            parts.append(f"{policy} {change:+.1%} ± {wide:.1%}")
            good = change + wide < 0 if policy == "Low-Traffic" else good
        other, _ = against(found, "NeDD, sensitive first: HPCG", "Low-Traffic, insensitive first: HPCG")
        return f"miniMD {', '.join(parts)}; HPCG {other:+.1%} with NeDD against Low-Traffic, insensitive first", good

    return judged(
        study,
        machine,
        "ours",
        "place the sensitive job first",
        "of two jobs that arrive together the sensitive one (miniMD, 32 nodes) gains if it is placed before the "
        "insensitive one (HPCG, 64 nodes) where both are placed by Low-Traffic",
        check,
        "who comes later is spread over more routers, and here their links are worth more to an exchange than "
        "quiet ones",
    )
