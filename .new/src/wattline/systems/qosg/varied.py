"""What the thesis states of QoSG under other sizes, limits, loads, mixes of jobs and hours of the signal."""

from __future__ import annotations

from wattline.systems.followers import QOSG
from wattline.systems.qosg.causes import By, own, tried
from wattline.systems.qosg.jobs import setting_of
from wattline.systems.qosg.study import Study, saving, standby_share
from wattline.systems.qosg.words import LIMITS, at, claim, minus, percent, saved, weights_of
from wattline.systems.reproduction import Claim

LEVELS = ("tight", "default", "loose")
UTILIZATIONS = {"25 %": "η = 25 %", "50 %": "default", "75 %": "η = 75 %"}


def settings(study: Study) -> list[Claim]:
    """Return the statements on other sizes, limits, loads and mixes of jobs (Fig. 2.11 to 2.16)."""
    return [_sizes(study), *_levels(study), *_loads(study), *_alone(study)]


def _sizes(study: Study) -> Claim:
    by_size = {100: saved(study, "default"), **{n: saved(study, f"{n} servers") for n in study.scale.sizes}}
    low = [f"{n} servers {minus(part)}" for n, part in sorted(by_size.items()) if part <= 0.45]
    return claim(
        "Fig. 2.11",
        "above 45 % from 20 to 2500 servers",
        "From 20 to 2500 servers the saving is above 45 %.",
        "; ".join(f"{n}: {minus(part)}" for n, part in sorted(by_size.items())),
        not low,
        f"not with {', '.join(low)}; {LIMITS}: with loose limits 100 servers save {minus(saved(study, 'loose'))}",
    )


def _levels(study: Study) -> list[Claim]:
    means = [at(study, level).choice.bid.mean_w for level in LEVELS]
    savings = [saved(study, level) for level in LEVELS]
    filled = [standby_share(at(study, level).choice.outcome) for level in LEVELS]

    def costlier(by: By) -> bool:
        chosen = [by(level) for level in LEVELS]
        powers, parts = [one.bid.mean_w for one in chosen], [saving(one.outcome)[0] for one in chosen]
        return powers[0] > powers[1] > powers[2] and parts[0] < parts[1] < parts[2]

    def fuller(by: By) -> bool:
        parts = [standby_share(by(level).outcome) for level in LEVELS]
        return parts[0] > parts[1] > parts[2]

    return [
        claim(
            "Fig. 2.12",
            "tighter QoS: larger P̄, smaller saving",
            "Tighter QoS constraints lead to a larger P̄ and a smaller saving.",
            "; ".join(
                f"{level}: {mean:,.0f} W, {minus(part)}"
                for level, mean, part in zip(LEVELS, means, savings, strict=True)
            ),
            costlier(own(study)),
            f"one hour of jobs and signal decides between bids that lie close; {tried(study, costlier, levels=False)}",
        ),
        claim(
            "Fig. 2.12",
            "tighter QoS: more standby jobs",
            "Tighter QoS constraints lead to more standby jobs (their part of all energy).",
            "; ".join(f"{level}: {part:.1%}" for level, part in zip(LEVELS, filled, strict=True)),
            fuller(own(study)),
            f"it follows P̄, and with it the hour's bids; {tried(study, fuller, levels=False)}",
        ),
    ]


def _loads(study: Study) -> list[Claim]:
    fs = [float(weights_of(at(study, mix))[0]) for mix in ("mix-long", "default", "mix-short")]
    told = " → ".join(f"{value:.1%}" for value in fs)

    def weights(by: By) -> list[float]:
        chosen = [by(mix).weights for mix in ("mix-long", "default", "mix-short")]
        return [0.0 if one is None else float(one[0]) for one in chosen]

    def rises(by: By) -> bool:
        first, second, third = weights(by)
        return first < second < third

    def as_published(by: By) -> bool:
        first, _, third = weights(by)
        return abs(first - 0.08) <= 0.03 and abs(third - 0.18) <= 0.03

    def saves(by: By) -> bool:
        return abs(saving(by("η = 75 %").outcome)[0] - 0.251) <= 0.05

    return [
        claim(
            "Fig. 2.14",
            "75 % utilization: −25.1 %",
            "At 75 % utilization the saving is 25.1 % (5 points granted).",
            "; ".join(f"{load}: {minus(saved(study, case))}" for load, case in UTILIZATIONS.items()),
            saves(own(study)),
            f"{LIMITS}; {tried(study, saves)}",
        ),
        claim(
            "Fig. 2.15",
            "weight of fs rises with its occupancy",
            "The weight of fs rises from W1 (long jobs) over W2 (the default) to W3 (short jobs).",
            told,
            rises(own(study)),
            f"{LIMITS}; {tried(study, rises)}",
        ),
        claim(
            "Fig. 2.15",
            "weight of fs from 8 % to 18 %",
            "From W1 to W3 the weight of fs rises from 8 % to 18 % (3 points granted to each).",
            told,
            as_published(own(study)),
            f"{LIMITS}, and with them each type's weight; {tried(study, as_published)}",
        ),
    ]


def _alone(study: Study) -> list[Claim]:
    """Statements on workloads of one application and standby jobs (Fig. 2.16)."""
    found = []
    for name, published in (("fs", 0.213), ("bt", 0.398)):
        here = at(study, f"{name} alone").choice
        setting = setting_of(QOSG, paper=True, only=name)
        need_w, mean_w = setting.idle_total_w + setting.load_w(), setting.idle_total_w / (1.0 - published)
        found.append(
            claim(
                "Fig. 2.16",
                f"{name} and standby: −{published:.1%}",
                f"A workload of {name} and standby jobs saves {published:.1%} (5 points granted).",
                f"{percent(here.outcome)} at P̄ = {here.bid.mean_w:,.0f} W, R = {here.bid.reserve_w:,.0f} W",
                abs(saved(study, f"{name} alone") - published) <= 0.05,
                f"with P̄ − R the idle power, which is the cheapest within reach, and no error, that saving means "
                f"P̄ = {mean_w:,.0f} W; the jobs alone need {need_w:,.0f} W",
            )
        )
    fs, bt = saved(study, "fs alone"), saved(study, "bt alone")

    def less(by: By) -> bool:
        return saving(by("fs alone").outcome)[0] < saving(by("bt alone").outcome)[0]

    found.append(
        claim(
            "Fig. 2.16",
            "fs saves less than bt",
            "A workload of fs, which draws least power, saves less than one of bt.",
            f"fs {minus(fs)}, bt {minus(bt)}",
            less(own(study)),
            f"{LIMITS}; {tried(study, less)}",
        )
    )
    return found


def signals(study: Study) -> list[Claim]:
    """Return the statements on other hours of the signal under the bid of the default (Fig. 2.17)."""
    outcomes = study.signals
    savings = {name: saving(outcome)[0] for name, outcome in outcomes.items()}
    kinds = {
        "generated": [n for n in outcomes if n.startswith("gen")],
        "recorded": [n for n in outcomes if n[0] == "R"],
    }
    rows = {kind: names for kind, names in kinds.items() if names}
    spread = {kind: [min(savings[n] for n in names), max(savings[n] for n in names)] for kind, names in rows.items()}
    late = [n for n, outcome in outcomes.items() if outcome.excess() > 0.0]
    loud = [n for n, outcome in outcomes.items() if outcome.error >= 0.07]
    own = [high - low for low, high in spread.values()]
    return [
        claim(
            "Fig. 2.17",
            "other signals: error below 7 %",
            "With other hours of the signal the mean error of the same bid is below 7 %.",
            "; ".join(
                f"{kind} {min(outcomes[n].error for n in names):.1%}…{max(outcomes[n].error for n in names):.1%}"
                for kind, names in rows.items()
            ),
            not loud,
            f"not with {', '.join(loud)}; the recorded days have a standard deviation of 0.60 and stay at their ends, "
            "the generated hours are Gaussian with 0.40",
        ),
        claim(
            "Fig. 2.17",
            "other signals: all constraints met",
            "With other hours of the signal the same bid meets the tracking and the QoS constraints.",
            "; ".join(
                f"{kind} on {sum(outcomes[n].excess() == 0.0 for n in names)} of {len(names)} hours, worst kind "
                f"{max(float(outcomes[n].shares().max()) for n in names):.0%}, ε > 0.3 at most "
                f"{max(outcomes[n].exceed.share for n in names):.0%}"
                for kind, names in rows.items()
            ),
            not late,
            f"not with {', '.join(late)}; the bid just keeps the hour on which it was chosen",
        ),
        claim(
            "Fig. 2.17",
            "other signals: similar saving",
            "With other hours of the signal the saving of the same bid differs by less than 5 points.",
            "; ".join(f"{kind} {minus(low)}…{minus(high)}" for kind, (low, high) in spread.items()),
            max(savings.values()) - min(savings.values()) < 0.05,
            "within " + ", ".join(f"{kind} hours by {100 * s:.1f} points" for kind, s in zip(spread, own, strict=True)),
        ),
    ]
