"""``wl.bid``: choose what to promise the grid, test the promise on other hours, and say whether it is certified."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api import bid_words
from wattline.api.forked import refuse_forked
from wattline.api.listener import Listener
from wattline.api.runs import as_text, check_switches, folder_at, path_of
from wattline.api.studies import Study, load, only
from wattline.errors import InputError, ScenarioError, shorten
from wattline.finite import to_finite

if TYPE_CHECKING:
    from wattline.bidding.across import Margin
    from wattline.bidding.certificate import Certificate
    from wattline.bidding.hours.setting import Setting
    from wattline.bidding.searches.choice import Choice
    from wattline.journal.kept import Kept
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
            "signal_taken": self.setting.taken or None,
            **self.certificate.to_json(),
            "margin": None if self.margin is None else self.margin.to_json(),
            "feasible": self.choice.feasible,
            "history": self.choice.history,
        }
        return dict(to_finite(told))

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the scenario with the bid put in, under its verdict.

        Parameters
        ----------
        path
            The file; one that an earlier bid for this scenario made is replaced.
        force
            Whether any other file is replaced, too.

        Returns
        -------
        Path
            The file that was written.
        """
        from wattline.scenario.write_bid import refuse_own, write_bid

        check_switches("write", force=force)
        target = path_of("write", path)
        if not force:
            refuse_own(self.document, target, "force")
        write_bid(self.document, self.setting, self.choice, target, (self.title, *self.verdict))
        return target

    def save(self, folder: Path | str) -> Path:
        """Write the certificate, and the page with its figures, into a folder.

        Parameters
        ----------
        folder
            Where to; what an earlier bid left there is replaced.

        Returns
        -------
        Path
            The folder.
        """
        from wattline.api.bid_page import write_page

        target = folder_at(folder)
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
    folder: Path | str | None = None,
    resume: bool = False,
) -> BidResult:
    """Choose mean power and reserve to offer as regulation, and test them on other hours.

    Parameters
    ----------
    study
        The scenario, of ``wl.load`` (a path is read).
    method
        search, aqa, qosg, grid, grid-tracking, grid-least, heuristic or given (default: as the scenario says).
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
    folder
        Where simulated hours and days are kept until the bid is found (default: nowhere).
    resume
        Whether to go on with a search that was cut off in this folder: what was simulated is not simulated again.

    Returns
    -------
    BidResult
        The bid, its certificate, and its verdict in words.
    """
    refuse_forked()
    asked = study if isinstance(study, Study) else load(path_of("bid", study))
    if reach is not None:
        asked = asked.set({"regulation.reach": reach})
    if hours is not None and (isinstance(hours, bool) or not isinstance(hours, int) or not 2 <= hours <= MOST_HOURS):
        raise InputError(f"bid: hours is a whole number from 2 to {MOST_HOURS:,}, got {shorten(hours)}")
    if not isinstance(confidence, float) or not LEAST_SURE <= confidence <= MOST_SURE:
        raise InputError(f"bid: confidence is a number from {LEAST_SURE:g} to {MOST_SURE:g}, got {shorten(confidence)}")
    if method is not None and not isinstance(method, str):
        raise InputError(f"bid: method is a name like 'search', got {shorten(method)}")
    check_switches("bid", quick=quick, across=across, progress=progress, resume=resume)
    if resume and folder is None:
        raise InputError("bid: resume needs the folder of the search that was cut off")
    listener = Listener(progress=progress)
    target = None if folder is None else folder_at(folder)
    how: dict[str, Any] = {"method": method, "hours": hours, "confidence": confidence, "quick": quick, "across": across}
    with keeping(asked.document, target, resume=resume) as kept:
        return find_bid(asked.document, listener, **how, kept=kept)


@contextmanager
def keeping(document: Document, folder: Path | None, *, resume: bool) -> Iterator[Kept | None]:
    """Yield where simulated hours and days of a bid are kept until it is found (None: nowhere)."""
    from wattline.journal.kept import open_kept
    from wattline.scenario.inputs import identity

    if folder is None:
        yield None
        return
    kept = open_kept(folder, identity(document), resume=resume, result=CERTIFICATE)
    try:
        yield kept
    except BaseException:
        kept.leave()
        raise
    kept.forget()


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
    kept: Kept | None = None,
) -> BidResult:
    """Choose a bid for a scenario with one choice of policies, and test it; ``kept`` holds what was simulated."""
    from wattline.api.assumptions import floors_below_idle
    from wattline.scenario.setting import build_setting

    document = only(document, "pick one: policy.{slot}=…").document
    how = method or document.spec.bid.method
    setting = build_setting(document, given=how == "given")
    if across and not setting.records:
        told = 'there are no recorded days to leave out: name some, signal = ["a.csv.gz", "b.csv.gz"]'
        raise document.source.error(("regulation", "signal"), told)
    listener.notes((n.action, n.reason, n.count, n.example) for n in setting.notes)
    lowest, idle_w = min(setting.kinds, key=lambda kind: kind.floor_w), min(c.idle_w for c in setting.cluster.classes)
    if lowest.floor_w < idle_w and lowest.floor_w < lowest.draw_w:
        listener.loud(floors_below_idle("kinds of job", lowest.name, lowest.floor_w, idle_w))
    listener.warm_up(setting.policies.slots(), nodes_change=False)
    if kept is not None and kept.words:
        listener.say(kept.words)
    try:
        if setting.records:
            return _on_records(document, setting, how, listener, confidence, kept, quick=quick, across=across)
        return _on_hours(document, setting, how, listener, confidence, kept, hours)
    except ScenarioError:
        raise
    except InputError as problem:
        raise ScenarioError(f"{document.source.where(('bid', 'method'))}: {problem}") from None


KEEPING = ", and keeping what is done"


class _Stages:
    """Hours of a search and of the test after it, as one progress."""

    def __init__(self, report: Callable[[int, int], None], tested: int) -> None:
        self.report, self.tested = report, tested
        self.searched, self.done = 0, 0
        self._counting = threading.Lock()

    def search(self, done: int, total: int) -> None:
        """Hear how far the search is."""
        self.searched = done
        self.report(done, total + self.tested)

    def test(self) -> None:
        """Hear that one more hour of the test is done."""
        with self._counting:
            self.done += 1
            self.report(self.searched + self.done, self.searched + self.tested)


def _on_hours(
    document: Document,
    setting: Setting,
    method: str,
    listener: Listener,
    confidence: float,
    kept: Kept | None,
    hours: int | None,
) -> BidResult:
    """Choose a bid on drawn hours, and test it on others."""
    from wattline.bidding.certificate import certify
    from wattline.bidding.choose import choose

    seeds = range(hours or document.spec.bid.hours)
    given = _given(document, setting, method, listener, f"testing on {len(seeds)} fresh hours ...")
    with listener.progress("hours", keeping=KEEPING if kept else "") as progress:
        stages = _Stages(progress, len(seeds))
        choice = choose(setting, method, mode=bid_words.mode(document), given=given, progress=stages.search, kept=kept)
        certificate = certify(setting, choice, seeds, confidence, kept=kept, progress=stages.test)
    return BidResult(document, setting, certificate)


def _on_records(
    document: Document,
    setting: Setting,
    method: str,
    listener: Listener,
    confidence: float,
    kept: Kept | None,
    **more: bool,
) -> BidResult:
    """Choose a bid on recorded days, and test it on those that its search has not seen."""
    from wattline.bidding.choose import choose_on_records

    count = len(setting.records)
    given = _given(document, setting, method, listener, f"on {count} recorded day{'s' if count > 1 else ''} ...")
    with listener.progress("days", keeping=KEEPING if kept else "") as progress:
        certificate, margin = choose_on_records(
            setting,
            setting.records,
            method,
            mode=bid_words.mode(document),
            given=given,
            confidence=confidence,
            **more,
            progress=progress,
            kept=kept,
        )
    return BidResult(document, setting, certificate, margin)


def _given(document: Document, setting: Setting, method: str, listener: Listener, where: str) -> Bid | None:
    """Return the bid that the scenario gives, if there is one; it must be one that the machine can keep."""
    from wattline.bidding.budget import is_budget
    from wattline.model.regulation import Bid

    market = document.spec.regulation
    if is_budget(setting):
        listener.say(f"{'choosing' if method != 'given' else 'testing'} a day's budget, {where}")
        bid = setting.policies.params["bid"]
        return Bid(bid["mean_w"], bid["reserve_w"]) if method == "given" else None
    given = (
        Bid(market.mean, market.reserve) if market and market.mean is not None and market.reserve is not None else None
    )
    if method != "given":
        listener.say(f"choosing a bid by {method}, {where}")
        return given
    listener.say(where)
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
