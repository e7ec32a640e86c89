"""What is claimed of Slackline in the contest, each beside what the comparisons gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wattline.bidding.searches.choice import PAPER, STRICT
from wattline.systems.contest.worlds import CAPS, DAYS, GAUSSIAN, PAUSES, TWELVE, Case, setting_of
from wattline.systems.followers import AQA, SLACKLINE
from wattline.systems.npb import WORKLOADS
from wattline.systems.reproduction import Claim

Results = Mapping[Case, dict[str, Any]]

CHEAPER = 0.90
"""Slackline's cost over AQA's that counts as a tenth cheaper."""

WANTED = {PAPER: 12, STRICT: 10}
"""Of fourteen workloads, on how many Slackline is to be a tenth cheaper."""


def of_world(results: Results, world: str, reach: str) -> dict[str, dict[str, Any]]:
    """Return the comparisons of a world and a reach by workload."""
    return {case.of: found[reach] for case, found in results.items() if case.world == world and reach in found}


def claims(results: Results) -> list[Claim]:
    """Return all statements with verdicts."""
    found = [_count(results, GAUSSIAN, PAPER, "on the Gaussian signal")]
    found += [_count(results, GAUSSIAN, STRICT, "on the Gaussian signal")]
    found += [_each(results, PAUSES, "where both may pause jobs")]
    found += [_each(results, CAPS, "where jobs answer to caps as measured")]
    found += [_kept(results, reach) for reach in (PAPER, STRICT)]
    found += [_ours_kept(results, reach) for reach in (PAPER, STRICT)]
    found += [_days(results), _twelve(results)]
    return found


def _count(results: Results, world: str, reach: str, where: str) -> Claim:
    by = of_world(results, world, reach)
    few = len(by) < len(WORKLOADS)
    ratios = {w: found["equal"]["ratio"][0] for w, found in by.items()}
    good = [w for w, part in ratios.items() if part <= CHEAPER]
    others = {w: part for w, part in ratios.items() if part > CHEAPER}
    holds = None if few else len(good) >= WANTED[reach]
    because = ""
    if few:
        because = "not all fourteen workloads were compared: this is a smaller version"
    elif not holds:
        because = _bounded(by, others) if reach == STRICT else "on the others the same promise limits both reserves"
    told = f"on {len(good)} of {len(by)}" + (f"; not on {_listed(others)}" if others else "") + _loads(by)
    return Claim(
        f"{world}, {reach}",
        f"{reach} reach, {world}: a tenth cheaper on {WANTED[reach]} of 14",
        f"{where}, {reach} reach, Slackline costs at least a tenth less than AQA at equal rates on at least "
        f"{WANTED[reach]} of 14 workloads",
        told if by else "–",
        holds=holds,
        because=because,
    )


def _loads(by: Mapping[str, dict[str, Any]]) -> str:
    """Say where the loads of both turned out alike on the hours that are judged, and where ours is larger."""
    alike = [w for w, found in by.items() if found["equal"]["alike"]]
    larger = [
        w
        for w, found in by.items()
        if w not in alike and found["equal"][SLACKLINE.name]["load"] > found["equal"][AQA.name]["load"]
    ]
    rest = len(by) - len(alike)
    if not rest:
        return "; all rates are alike"
    where = "Slackline's is the lower one"
    if larger:
        where = f"Slackline breaks promises more often on {', '.join(larger)}, less often on the rest"
    return f"; rates are alike on {len(alike)}, on the other {rest} {where}"


def idle_bill(workload: str) -> float:
    """Return what an hour of the idle machine costs: no bid within strict reach, which goes down to idle power at most,
    costs less.
    """
    setting = setting_of(Case(GAUSSIAN, workload), AQA)
    return setting.idle_total_w / 1000.0 * setting.prices.average()["energy"]


def _bounded(by: Mapping[str, dict[str, Any]], others: Mapping[str, float]) -> str:
    """Return on how many of the workloads that are not cheap enough nobody could be: the idle machine's bill bounds
    all.
    """
    least = {w: idle_bill(w) / by[w]["equal"][AQA.name]["cost"] for w in others}
    bound = [w for w, part in least.items() if part > CHEAPER]
    rest = [w for w in others if w not in bound]
    told = "no bid of strict reach costs less than the bill of the idle machine, and that is "
    told += f"above {CHEAPER:.2f} × AQA's cost " + (f"on {', '.join(bound)}" if bound else "nowhere")
    return told + (f"; the cause on {', '.join(rest)} was not tested" if rest else "")


def _each(results: Results, world: str, where: str) -> Claim:
    by = of_world(results, world, PAPER)
    ratios = {w: found["equal"]["ratio"][0] for w, found in by.items()}
    holds = max(ratios.values()) <= CHEAPER if ratios else None
    return Claim(
        f"{world}, {PAPER}",
        f"{world}: a tenth cheaper wherever compared",
        f"{where}, {PAPER} reach, Slackline costs at least a tenth less than AQA at equal rates on every workload that "
        "was compared",
        _listed(ratios) if ratios else "–",
        holds=holds,
        because=""
        if holds
        else "nothing was compared: the data are not at hand, or this is a smaller version"
        if holds is None
        else "what limits the reserve there is the same for both",
    )


def _kept(results: Results, reach: str) -> Claim:
    by = of_world(results, GAUSSIAN, reach)
    kept = {w: found["own"]["ratio"][0] for w, found in by.items() if found["own"]["both keep"]}
    holds = max(kept.values()) < 1.0 if kept else None
    return Claim(
        f"{GAUSSIAN}, {reach}",
        f"{reach} reach: cheaper wherever both keep all",
        f"on the Gaussian signal, {reach} reach, Slackline costs less than AQA on every workload on which both keep "
        "every promise with the bids that they found",
        f"both keep all on {len(kept)} of {len(by)}" + (f": {_listed(kept)}" if kept else ""),
        holds=holds,
        because="" if holds else "there is none on these hours" if holds is None else "their costs differ by little",
    )


def _ours_kept(results: Results, reach: str) -> Claim:
    by = of_world(results, GAUSSIAN, reach)
    loads = {side: {w: found["own"][side]["load"] for w, found in by.items()} for side in (AQA.name, SLACKLINE.name)}
    broken = {w: load for w, load in loads[SLACKLINE.name].items() if load > 1.0}
    theirs = sum(load <= 1.0 for load in loads[AQA.name].values())
    return Claim(
        f"{GAUSSIAN}, {reach}",
        f"{reach} reach: Slackline keeps all",
        f"on the Gaussian signal, {reach} reach, Slackline keeps every promise on fresh hours of every workload, with "
        "the bid that it found",
        f"on {len(by) - len(broken)} of {len(by)}; AQA on {theirs}",
        holds=not broken,
        because="" if not broken else f"its worst promise is broken {_listed(broken)} as often as is allowed",
    )


def day_ratios(results: Results) -> dict[str, dict[str, float]]:
    """Return Slackline's cost over AQA's at equal rates: workload → day → ratio."""
    return {
        w: {
            day["day"]: day["equal"]["Slackline"]["costs"] / day["equal"]["AQA"]["costs"]
            for day in sorted(found["days"], key=lambda day: str(day["day"]))
        }
        for w, found in of_world(results, DAYS, PAPER).items()
    }


def _days(results: Results) -> Claim:
    by = day_ratios(results)
    every = [part for of in by.values() for part in of.values()]
    dearer = {f"{w} {day}": part for w, of in by.items() for day, part in of.items() if part >= 1.0}
    holds = not dearer if by else None
    return Claim(
        DAYS,
        "cheaper on every recorded day",
        "on recorded days that neither search has seen, paper reach, Slackline costs less than AQA on every day "
        "of every workload that was compared, at rates that were made equal on the other days",
        f"on {len(every) - len(dearer)} of {len(every)} days" + (f"; not on {_listed(dearer)}" if dearer else ""),
        holds=holds,
        because=""
        if holds
        else "recorded days are not at hand, or this is a smaller version"
        if holds is None
        else "where jobs are few and wide, neither has a bid that keeps tracking",
    )


def _twelve(results: Results) -> Claim:
    by = of_world(results, TWELVE, STRICT)
    ratios = [found["equal"]["ratio"][0] for found in by.values()]
    holds = ratios[0] <= 1.0 if ratios else None
    return Claim(
        TWELVE,
        "QoSG's 12 servers: no dearer",
        "on QoSG's twelve servers, strict reach, Slackline costs no more than the weighted sharing of QoSG and AQA at "
        "equal rates",
        f"× {ratios[0]:.2f}" if ratios else "–",
        holds=holds,
        because=""
        if holds
        else "this is a smaller version"
        if holds is None
        else "both keep all promises there at costs that differ by little",
    )


def _listed(parts: Mapping[str, float]) -> str:
    worst: Sequence[tuple[str, float]] = sorted(parts.items(), key=lambda item: -item[1])[:14]
    return ", ".join(f"{name} × {part:.2f}" for name, part in worst)
