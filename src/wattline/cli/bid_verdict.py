"""What is said of a tested bid: certified or not, and why not, in the same words on terminal, page and in files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wattline.bid.certificate import Certificate
    from wattline.bid.setting import Setting

HOURS_FROM = {
    "law": "that no search has seen",
    "searched record": "of the record that was searched",
    "record": "cut out of one record",
}
"""Where hours of a certificate come from, in words."""


def verdict_lines(setting: Setting, found: Certificate) -> list[str]:
    """Say whether the bid is certified; otherwise what is not kept, by how much, and why as far as that can be told."""
    from wattline.report.show import printable

    lines = [found.verdict]
    if found.kept:
        return lines
    limits = {kind.name: kind.limit for kind in found.outcome.kinds}
    for promise in (p for p in found.promises if not p.kept):
        rate, name = promise.rate, promise.about
        what = f"of its jobs reach Q ≥ {limits[name]:g}" if name in limits else "of the time"
        allowed = f"{promise.limit:.0%} allowed".replace("%", " %")
        lines.append(f"  {promise.state}: {printable(name)}: {percent(rate.share)} {what}, {allowed}")
        if promise.state == "UNSURE":
            lines.append(f"    with this many hours it may be {percent(rate.high)}: more hours tell")
    needed_w = setting.idle_total_w + setting.load_w(capped=True)
    if found.choice.bid.mean_w < needed_w:
        lines.append(f"  the jobs need {needed_w / 1e3:.3g} kW even at their lowest caps: raise the mean power")
    return lines


def percent(share: float) -> str:
    """Return a share with two digits."""
    return "–" if math.isnan(share) else f"{100 * share:.2f} %"
