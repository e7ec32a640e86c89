"""``wl.bid``: choose what to promise the grid, test the promise on other hours, and say whether it is certified."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api import bid_words
from wattline.api.listener import Listener
from wattline.api.runs import as_text, path_of
from wattline.api.studies import Study, load, only
from wattline.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from wattline.bidding.across import Margin
    from wattline.bidding.certificate import Certificate
    from wattline.bidding.choice import Choice
    from wattline.bidding.setting import Setting
    from wattline.model.regulation import Bid
    from wattline.scenario import Document

CERTIFICATE, PAGE = "certificate.json", "bid.html"
"""Names of what ``save`` writes."""


class BidResult:
    """A bid that was chosen and tested: mean power, reserve, and the certificate of what it keeps."""

    def __init__(
        self, document: Document, setting: Setting, certificate: Certificate, margin: Margin | None = None
    ) -> None:
        self.document, self.setting = document, setting
        self.certificate = certificate
        """Every promise with its rate and intervals, the cost and its spread."""
        self.margin = margin
        """What being sure of the next day costs, on recorded days."""

    @property
    def choice(self) -> Choice:
        """The bid, the weights and parameters that go with it, and how the search went."""
        return self.certificate.choice

    @property
    def mean_w(self) -> float:
        """Mean power that is promised, in watts."""
        return self.choice.bid.mean_w

    @property
    def reserve_w(self) -> float:
        """Reserve that is promised, in watts."""
        return self.choice.bid.reserve_w

    @property
    def certified(self) -> bool:
        """Whether every constraint is kept, with confidence, on new hours."""
        return self.certificate.certified

    @property
    def title(self) -> str:
        """What was chosen, by which method, for which policy and machine."""
        return bid_words.title(self.document, self.setting, self.choice)

    @property
    def verdict(self) -> list[str]:
        """Certified or not, and why not, a line each."""
        return bid_words.verdict_lines(self.setting, self.certificate)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, as ``wattline bid --json`` prints it."""
        spec = self.document.spec
        told = {
            "scenario": self.document.source.file,
            "name": spec.name,
            "policy": self.setting.name,
            "protocol": spec.bid.protocol,
            "reach": bid_words.mode(self.document),
            **self.certificate.to_json(),
            "margin": None if self.margin is None else self.margin.to_json(),
            "feasible": self.choice.feasible,
            "history": self.choice.history,
        }
        return dict(_plain(told))

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the scenario with the bid put in, under its verdict.

        A file that an earlier bid for this scenario made is replaced; any other only with ``force``.
        """
        from wattline.scenario.write_bid import refuse_own, write_bid

        if not force:
            refuse_own(self.document, Path(path), "force")
        write_bid(self.document, self.setting, self.choice, Path(path), (self.title, *self.verdict))
        return Path(path)

    def save(self, folder: Path | str) -> Path:
        """Write the certificate, and the page with its figures, into a folder."""
        from wattline.api.bid_page import write_page

        target = Path(folder)
        _save(target, self.to_dict())
        told = [(name or "or", text) for name, text in self._told()]
        write_page(target / PAGE, self.title, self.setting, self.certificate, told)
        return target

    @property
    def days(self) -> Any:
        """The recorded days of the certificate as a frame: the bid that each was tried under, and what it came to."""
        import polars as pl

        return pl.DataFrame([vars(day) | {"kept": day.kept} for day in self.certificate.evidence.table])

    def _told(self) -> list[tuple[str, str]]:
        facts = bid_words.facts(self.document, self.setting, self.certificate)
        return facts + bid_words.money(self.certificate) + bid_words.margin(self.margin, self.choice)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        facts = bid_words.facts(self.document, self.setting, self.certificate)
        return Group(
            Text(self.title, style="bold"),
            bid_words.table(facts),
            "",
            bid_words.promises(self.certificate),
            "",
            bid_words.table(bid_words.money(self.certificate) + bid_words.margin(self.margin, self.choice)),
        )

    def __repr__(self) -> str:
        return "\n".join([as_text(self), "", *self.verdict])

    def _repr_html_(self) -> str:
        from html import escape

        from wattline.api.bid_page import promise_table
        from wattline.report.page import facts

        told = self._told()
        lines = "".join(f"<p><b>{escape(line)}</b></p>" for line in self.verdict)
        below = facts((name or "or", text) for name, text in told)
        return f"<h4>{escape(self.title)}</h4>{lines}{promise_table(self.certificate)}{below}"


def bid(
    study: Study | Path | str,
    *,
    method: str | None = None,
    reach: str | None = None,
    hours: int | None = None,
    confidence: float = 0.95,
    quick: bool = False,
    across: bool = False,
    progress: bool = True,
) -> BidResult:
    """Choose mean power and reserve to offer as regulation, and test them on other hours.

    Parameters
    ----------
    study
        The scenario, of ``wl.load`` (a path is read).
    method
        search, aqa, qosg, grid, heuristic or given (default: as the scenario says).
    reach
        ``"strict"`` or ``"paper"``: whether the target may leave what the cluster can draw.
    hours
        Number of hours on which the bid is tested (default: as the scenario says, 200). Recorded days are all used.
    confidence
        How sure each promise is to be, between 0.5 and 0.999.
    quick
        Whether a search on recorded days looks at fewer bids.
    across
        Whether every recorded day is left out in turn, also where there are many, and tried without the margin too.
    progress
        Whether to show a bar.

    Returns
    -------
    BidResult
        The bid, its certificate, and its verdict in words.
    """
    asked = study if isinstance(study, Study) else load(path_of("bid", study))
    if reach is not None:
        asked = asked.set({"regulation.reach": reach})
    if hours is not None and (isinstance(hours, bool) or not isinstance(hours, int) or not 2 <= hours <= MOST_HOURS):
        raise InputError(f"bid: hours is a whole number from 2 to {MOST_HOURS:,}, got {hours!r}")
    if not isinstance(confidence, float) or not LEAST_SURE <= confidence <= MOST_SURE:
        raise InputError(f"bid: confidence is a number from {LEAST_SURE:g} to {MOST_SURE:g}, got {confidence!r}")
    listener = Listener(progress=progress)
    return find_bid(
        asked.document, listener, method=method, hours=hours, confidence=confidence, quick=quick, across=across
    )


MOST_HOURS = 100_000
"""Hours on which a bid can be tested."""

LEAST_SURE, MOST_SURE = 0.5, 0.999
"""Confidences that a certificate may have."""


def find_bid(
    document: Document,
    listener: Listener,
    *,
    method: str | None = None,
    hours: int | None = None,
    confidence: float = 0.95,
    quick: bool = False,
    across: bool = False,
) -> BidResult:
    """Choose a bid for a scenario with one choice of policies, and test it."""
    from wattline.scenario.setting import build_setting

    document = only(document, "pick one: policy.{slot}=…").document
    how = method or document.spec.bid.method
    setting = build_setting(document, given=how == "given")
    if across and not setting.records:
        told = 'there are no recorded days to leave out: name some, signal = ["a.csv.gz", "b.csv.gz"]'
        raise document.source.error(("regulation", "signal"), told)
    listener.notes((n.action, n.reason, n.count, n.example) for n in setting.notes)
    listener.warm_up(setting.policies.slots(), nodes_change=False)
    try:
        if setting.records:
            return _on_records(document, setting, how, listener, confidence, quick=quick, across=across)
        return _on_hours(document, setting, how, listener, confidence, hours)
    except ScenarioError:
        raise
    except InputError as problem:
        raise ScenarioError(f"{document.source.where(('bid', 'method'))}: {problem}") from None


def _on_hours(
    document: Document, setting: Setting, method: str, listener: Listener, confidence: float, hours: int | None
) -> BidResult:
    """Choose a bid on drawn hours, and test it on others."""
    from wattline.bidding.certificate import certify
    from wattline.bidding.choose import choose

    given = _given(document, setting, method, listener)
    with listener.progress("bids tried", keeping="") as progress:
        choice = choose(setting, method, mode=bid_words.mode(document), given=given, progress=progress)
    seeds = range(hours or document.spec.bid.hours)
    listener.say(f"testing on {len(seeds)} fresh hours ...")
    return BidResult(document, setting, certify(setting, choice, seeds, confidence))


def _on_records(
    document: Document, setting: Setting, method: str, listener: Listener, confidence: float, **more: bool
) -> BidResult:
    """Choose a bid on recorded days, and test it on those that its search has not seen."""
    from wattline.bidding.choose import choose_on_records

    given = _given(document, setting, method, listener)
    count = len(setting.records)
    listener.say(f"on {count} recorded day{'s' if count > 1 else ''} ...")
    with listener.progress("bids tried", keeping="") as progress:
        certificate, margin = choose_on_records(
            setting,
            setting.records,
            method,
            mode=bid_words.mode(document),
            given=given,
            confidence=confidence,
            **more,
            progress=progress,
        )
    return BidResult(document, setting, certificate, margin)


def _given(document: Document, setting: Setting, method: str, listener: Listener) -> Bid | None:
    """Return the bid that the scenario gives, if there is one; it must be one that the machine can keep."""
    from wattline.bidding.budget import is_budget
    from wattline.model.regulation import Bid

    market = document.spec.regulation
    if is_budget(setting):
        listener.say("choosing a day's budget ..." if method != "given" else "testing a day's budget ...")
        bid = setting.policies.params["bid"]
        return Bid(bid["mean_w"], bid["reserve_w"]) if method == "given" else None
    given = (
        Bid(market.mean, market.reserve) if market and market.mean is not None and market.reserve is not None else None
    )
    if method != "given":
        listener.say(f"choosing a bid by {method} ...")
        return given
    if market is None or given is None:
        raise document.source.error(("regulation",), "there is no bid to test: give mean and reserve")
    from wattline.scenario.sections.regulation.regulation import check_reach, reach_values

    check_reach(market, document.context, given, reach_values(setting.signal), setting.cluster)
    return given


def _save(folder: Path, data: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        (folder / CERTIFICATE).write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        raise ScenarioError(f"{folder}: cannot be written ({problem.strerror}); give another --out") from None


def _plain(value: Any) -> Any:
    """Return values as JSON knows them: null where there is no finite number."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
