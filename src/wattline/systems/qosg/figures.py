"""The figures of the QoSG study: hours of following the target, distributions of error and QoS, savings over
settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from wattline.bidding.hours.observed import Observed, observe
from wattline.bidding.hours.setting import Setting
from wattline.report.figures.shares import Curve, Service, draw_error_shares, draw_services
from wattline.report.figures.style import BLUE, GREY, PALETTE, TEAL, Drawn, new_figure
from wattline.systems.hours import draw_hour
from wattline.systems.qosg.claims import PUBLISHED_SAVINGS
from wattline.systems.qosg.jobs import NAMES, setting_of
from wattline.systems.qosg.study import RECIPES, Study, saving
from wattline.systems.tuned import HOUR_SEED

POLICIES = ("QoSG", "Tracking-only", "EnergyQARE", "EnergyQARE with standby")


def draw_hours(study: Study, folder: Path) -> Iterator[Drawn]:
    """Draw the hour of the study under QoSG with and without standby jobs, and under the baselines (Figs. 2.4 and
    2.7).
    """
    default = study.found["default"]
    for name, title, tuned, standby in (
        ("fig-2.4a", "Fig. 2.4a: QoSG with standby jobs", default["QoSG"], True),
        ("fig-2.4b", "Fig. 2.4b: QoSG without standby jobs", study.found["without standby"]["QoSG"], False),
        ("fig-2.7a", "Fig. 2.7: Tracking-only", default["Tracking-only"], False),
        ("fig-2.7b", "Fig. 2.7: EnergyQARE", default["EnergyQARE"], False),
    ):
        setting = _setting(tuned.policy, standby=standby)
        yield draw_hour(folder / name, setting, HOUR_SEED, tuned.choice, title)


def _setting(policy: str, *, standby: bool) -> Setting:
    return setting_of(RECIPES[policy.split(",")[0]], paper=True, standby=standby)


def observed(study: Study) -> dict[str, Observed]:
    """Simulate the hour of the study once more under the bids that the policies chose for the default."""
    found = {}
    for name in POLICIES:
        tuned = study.found["default"][name]
        choice, standby = tuned.choice, name == "QoSG" or name.endswith("standby")
        setting = _setting(tuned.policy, standby=standby)
        found[name] = observe(setting, [HOUR_SEED], choice.bid, choice.weights, choice.params)
    return found


def draw_errors(seen: Mapping[str, Observed]) -> Drawn:
    """Draw the distribution of the tracking error of the policies on the hour of the study (Fig. 2.5)."""
    curves = {name: Curve(found.seconds, found.error) for name, found in seen.items()}
    return draw_error_shares(curves, "Fig. 2.5: tracking error", "The hour of the study.")


def draw_qos(seen: Mapping[str, Observed]) -> Drawn:
    """Draw the distribution of each kind's QoS degradation under the policies (Fig. 2.6)."""
    kinds = [kind for kind in seen["QoSG"].kinds if not kind.standby]
    services = [
        Service(k.name, k.limit, k.share, {name: found.of(k.name) for name, found in seen.items()}) for k in kinds
    ]
    caption = "Jobs that finish within the hour of the study. A curve must pass above the corner of its limit and 90 %."
    return draw_services(services, "Fig. 2.6: QoS degradation", caption)


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
