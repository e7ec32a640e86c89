"""The figures of the QoSG study: hours of following the target, distributions of error and QoS, savings over
settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from wattline.bidding.hours.observed import Observed, observe
from wattline.bidding.hours.setting import Setting
from wattline.report.figures.shares import Curve, Service, draw_error_shares, draw_services
from wattline.report.figures.style import AMBER, BLUE, GREY, PALETTE, TEAL, Drawn, new_figure
from wattline.systems.hours import draw_hour
from wattline.systems.qosg.claims import PUBLISHED_SAVINGS
from wattline.systems.qosg.jobs import NAMES, setting_of
from wattline.systems.qosg.study import RECIPES, Study, cases, saving
from wattline.systems.tuned import HOUR_SEED

POLICIES = ("QoSG", "Tracking-only", "EnergyQARE", "EnergyQARE with standby")


HOURS = (
    ("fig-2.3", "Fig. 2.3: QoSG on 12 servers", "12 servers", "QoSG", True),
    ("fig-2.4a", "Fig. 2.4a: QoSG with standby jobs", "default", "QoSG", True),
    ("fig-2.4b", "Fig. 2.4b: QoSG without standby jobs", "without standby", "QoSG", False),
    ("fig-2.7a", "Fig. 2.7: Tracking-only", "default", "Tracking-only", False),
    ("fig-2.7b", "Fig. 2.7: EnergyQARE", "default", "EnergyQARE", False),
    ("fig-2.10a", "Fig. 2.10: Tracking-only on 12 servers", "12 servers", "Tracking-only", False),
    ("fig-2.10b", "Fig. 2.10: EnergyQARE on 12 servers", "12 servers", "EnergyQARE", False),
    ("fig-2.13a", "Fig. 2.13: QoSG at a utilization of 25 %", "η = 25 %", "QoSG", True),
    ("fig-2.13b", "Fig. 2.13: QoSG at a utilization of 75 %", "η = 75 %", "QoSG", True),
)
"""Hours that are drawn: folder, title, case, policy, and whether there are standby jobs."""


def draw_hours(study: Study, folder: Path) -> Iterator[Drawn]:
    """Draw the hour of the study by case and policy. On 12 servers the thesis shows measured hours, ours are
    simulated.
    """
    for name, title, case, policy, standby in HOURS:
        setting = _setting(study, case, policy, standby=standby)
        yield draw_hour(folder / name, setting, HOUR_SEED, study.found[case][policy].choice, title)


def _setting(study: Study, case: str, policy: str, *, standby: bool) -> Setting:
    of = cases(study.scale)[case] | {"standby": standby}
    return setting_of(RECIPES[study.found[case][policy].policy.split(",")[0]], paper=True, **of)


def observed(study: Study, case: str) -> dict[str, Observed]:
    """Simulate the hour of the study once more under the bids that the policies chose in a case."""
    found = {}
    for name in POLICIES:
        choice, standby = study.found[case][name].choice, name == "QoSG" or name.endswith("standby")
        setting = _setting(study, case, name, standby=standby)
        found[name] = observe(setting, [HOUR_SEED], choice.bid, choice.weights, choice.params)
    return found


def draw_errors(seen: Mapping[str, Observed], title: str) -> Drawn:
    """Draw the distribution of the tracking error of the policies on the hour of the study (Figs. 2.5, 2.8)."""
    curves = {name: Curve(found.seconds, found.error) for name, found in seen.items()}
    return draw_error_shares(curves, title, "The hour of the study.")


def draw_qos(seen: Mapping[str, Observed], title: str) -> Drawn:
    """Draw the distribution of each kind's QoS degradation under the policies (Figs. 2.6, 2.9)."""
    kinds = [kind for kind in seen["QoSG"].kinds if not kind.standby]
    services = [
        Service(k.name, k.limit, k.share, {name: found.of(k.name) for name, found in seen.items()}) for k in kinds
    ]
    caption = "Jobs that finish within the hour of the study. A curve must pass above the corner of its limit and 90 %."
    return draw_services(services, title, caption)


def draw_signals(study: Study) -> Drawn:
    """Draw saving and mean error of the default's bid under other hours of the signal (Fig. 2.17)."""
    figure, names = new_figure(320), list(study.signals)
    outcomes = study.signals.values()
    figure.add_bar(x=names, y=[100 * saving(o)[0] for o in outcomes], name="saving", marker={"color": BLUE})
    figure.add_bar(x=names, y=[100 * o.error for o in outcomes], name="mean tracking error", marker={"color": AMBER})
    dashed = {"color": GREY, "width": 1.5, "dash": "dash"}
    figure.add_scatter(x=names, y=[7.0] * len(names), mode="lines", name="7 %", line=dashed)
    figure.update_yaxes(title_text="[%]")
    figure.update_layout(showlegend=True, barmode="group")
    caption = "The bid of the default on other hours that start empty. The errors of the thesis lie below 7 %."
    return Drawn(figure, "Fig. 2.17: other hours of the signal", caption)


def draw_savings(study: Study) -> Drawn:
    """Draw QoSG's savings over all cases, with what was published (Figs. 2.11–2.16)."""
    names = list(study.found)
    figure = new_figure(360)
    shown = [n for n in names if n in PUBLISHED_SAVINGS]
    figure.add_bar(
        x=shown, y=[100 * PUBLISHED_SAVINGS[n]["QoSG"] for n in shown], name="published", marker={"color": GREY}
    )
    one = [100 * saving(study.found[n]["QoSG"].choice.outcome)[0] for n in names]
    figure.add_bar(x=names, y=one, name="QoSG, its hour", marker={"color": BLUE})
    fresh = [saving(study.found[n]["QoSG"].others) for n in names]
    half = [100 * (high - low) / 2 for _, low, high in fresh]
    figure.add_bar(
        x=names,
        y=[100 * f[0] for f in fresh],
        name="QoSG, fresh hours",
        marker={"color": TEAL},
        error_y={"type": "data", "array": half, "visible": True},
    )
    figure.update_yaxes(title_text="saving [%]")
    figure.update_layout(showlegend=True, barmode="group")
    figure.update_xaxes(categoryorder="array", categoryarray=names)
    return Drawn(
        figure,
        "Savings against what was drawn",
        "Fresh hours with 95 % intervals. Not all bids keep their promises there.",
    )


def draw_weights(study: Study) -> Drawn:
    """Draw the weights in the three mixes (Fig. 2.15)."""
    figure = new_figure(320)
    for i, (label, case) in enumerate((("mix-long", "mix-long"), ("mix-even", "default"), ("mix-short", "mix-short"))):
        weights = study.found[case]["QoSG"].choice.weights
        values = [] if weights is None else (100 * weights[: len(NAMES)]).tolist()
        figure.add_bar(x=list(NAMES), y=values, name=label, marker={"color": PALETTE[i]})
    figure.update_yaxes(title_text="weight [%]")
    figure.update_layout(showlegend=True, barmode="group")
    return Drawn(figure, "Fig. 2.15: weights in three mixes", "What fills more of the machine gets more weight.")
