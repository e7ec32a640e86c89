"""All paths on which energy and money are counted, held against an accountant's books: tables, manifest, journal,
summary, bill.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from reference.accountant import ASLEEP, BUSY, DOWN, IDLE, WAKING, Ledger
from wattline.journal.journal import open_journal, write_journal
from wattline.market.bill import Book
from wattline.market.held import Held, constant
from wattline.market.products.paper import Paper
from wattline.report.count.metrics import Summary, summarize
from wattline.scenario.built.billing import Billing
from wattline.wiring.logs import bid_steps
from wattline.wiring.manifest import manifest, regulation_entry
from wattline.wiring.result import Result
from wattline.wiring.tables import frames

REL, ABS = 1e-9, 1e-6


def disagreements(result: Result, ledger: Ledger, folder: Path) -> str | None:
    """Return the first path on which something is counted otherwise than in the books, or None."""
    books = Comparison()
    tables = frames(result)
    about = manifest(result, name="world", source="random")
    _tables(books, result, tables, about, ledger)
    _held(books, result, tables, ledger)
    billing = _billing(result)
    tables["hours"] = billing.columns(result, tables["timeline"])
    about["kinds"] = [asdict(kind) for kind in result.options.kinds]
    about["accounts"] = billing.manifest()
    about["regulation"] = None
    if result.options.signal is not None:
        span = (float(result.state.start_s[0]), float(result.options.signal.end_s))
        about["regulation"] = regulation_entry(None, None, billing.hours or (), span, {})
    write_journal(folder / "journal", tables, about)
    summary = summarize(open_journal(folder / "journal"))
    _summary(books, result, summary, ledger)
    _money(books, result, billing, tables["hours"], summary, ledger)
    if result.options.kinds:
        _served(books, result, tables["hours"], summary)
        write_journal(folder / "journal", tables, about | {"regulation": None})  # the same jobs in no market
        _served(books, result, tables["hours"], summarize(open_journal(folder / "journal")))
    return books.found


class Comparison:
    """Keeps the first thing that differs."""

    def __init__(self) -> None:
        self.found: str | None = None

    def same(self, what: str, got: float, wanted: float, scale: float = 0.0) -> None:
        """Compare two numbers, to rounding in sums of ``scale``."""
        if math.isnan(got) and math.isnan(wanted):
            return
        if not abs(got - wanted) <= ABS + REL * max(abs(got), abs(wanted), scale) and self.found is None:
            self.found = f"{what}: {got!r}, the books say {wanted!r}"


def _tables(books: Comparison, result: Result, tables: Any, about: Any, ledger: Ledger) -> None:
    """Jobs, classes, totals and timeline as they go into the journal."""
    jobs, classes, timeline = tables["jobs"], tables["classes"], tables["timeline"]
    for j, joules in enumerate(jobs["energy_j"].tolist()):
        wanted = math.nan if math.isnan(jobs["start_s"][j]) else ledger.job_j.get(j, 0.0)
        books.same(f"energy of job {j}", joules, wanted)
        ran_s = math.nan if math.isnan(jobs["start_s"][j]) else ledger.ran_s.get(j, 0.0)
        books.same(f"run time of job {j}", float(jobs["runtime_s"][j]), ran_s)
    names = {"busy_energy_j": BUSY, "idle_energy_j": IDLE, "sleep_energy_j": ASLEEP, "boot_energy_j": WAKING}
    for p in range(len(classes["node_class"])):
        for column, state in names.items():
            books.same(
                f"{column} of class {p}", float(classes[column][p]), ledger.class_j.get((p, state), 0.0), ledger.total_j
            )
        for column, state in (("busy", BUSY), ("idle", IDLE), ("asleep", ASLEEP), ("down", DOWN)):
            books.same(
                f"{column}_node_s of class {p}",
                float(classes[f"{column}_node_s"][p]),
                ledger.class_s.get((p, state), 0.0),
            )
    for part, state in (("busy", BUSY), ("idle", IDLE), ("sleep", ASLEEP), ("boot", WAKING)):
        wanted = math.fsum(j for (_, s), j in ledger.class_j.items() if s == state)
        books.same(f"total of {part}", about["totals"][f"{part}_j"], wanted, ledger.total_j)
    books.same("total", about["totals"]["total_j"], ledger.total_j)
    time_s, power_w = timeline["time_s"], timeline["power_w"]
    ends = np.append(time_s[1:], result.state.now[0])
    books.same("the timeline's energy", math.fsum((power_w * (ends - time_s)).tolist()), ledger.total_j)
    books.same(
        "energy of jobs", float(np.nansum(jobs["energy_j"])), about["totals"]["busy_j"] + about["totals"]["boot_j"]
    )
    _means(books, result, tables)
    at = [t for t, _ in ledger.steps]
    for t, watts in zip(time_s.tolist(), power_w.tolist(), strict=True):
        books.same(f"power at {t} s", watts, ledger.steps[max(0, bisect.bisect_right(at, t) - 1)][1], 1e3)
    parts = ("busy", "idle", "asleep", "down")
    nodes = sum(timeline[f"{part}_nodes"] for part in parts)
    if not np.all(nodes == result.cluster.nodes):
        books.same("nodes of the timeline", float(nodes.min()), result.cluster.nodes)
    for part in parts:
        node_s = math.fsum((timeline[f"{part}_nodes"] * (ends - time_s)).tolist())
        books.same(f"{part} node-seconds of the timeline", node_s, float(np.sum(classes[f"{part}_node_s"])))


def _means(books: Comparison, result: Result, tables: Any) -> None:
    """Mean powers that the journal tells: by the time of a job they make its energy."""
    jobs, row = tables["jobs"], {int(job): j for j, job in enumerate(result.jobs.job_id)}
    profiles, shapes = tables["profiles"], tables["shapes"]
    for job, mean_w in zip(profiles.get("job_id", ()), profiles.get("mean_w", ()), strict=True):
        j = row[int(job)]
        if jobs["runtime_s"][j] > 0:
            wanted = float(jobs["energy_j"][j])
            books.same(f"mean power of job {j}", float(mean_w * jobs["nodes"][j] * jobs["runtime_s"][j]), wanted)
    for job, power_w in zip(shapes.get("job_id", ()), shapes.get("power_w", ()), strict=True):
        j = row[int(job)]
        if jobs["restarts"][j] == 0 and jobs["runtime_s"][j] > 0:
            wanted = float(jobs["energy_j"][j])
            books.same(f"power of job {j} in its configuration", float(power_w * jobs["runtime_s"][j]), wanted)


def _held(books: Comparison, result: Result, tables: Any, ledger: Ledger) -> None:
    """Node-seconds that jobs held, by their placements."""
    rows = tables["placements"]
    end_s = np.where(np.isnan(rows["end_s"]), result.state.now[0], rows["end_s"])
    held = math.fsum((rows["count"] * (end_s - rows["start_s"])).tolist())
    books.same(
        "node-seconds of placements", held, math.fsum(s for (_, what), s in ledger.class_s.items() if what == BUSY)
    )


def _summary(books: Comparison, result: Result, summary: Summary, ledger: Ledger) -> None:
    """What terminal and page show."""
    energy, power = summary.energy, summary.power
    jobs_j = math.fsum(ledger.job_j.values())
    for name, wanted in (("total_j", ledger.total_j), ("accounts_j", ledger.total_j), ("jobs_j", jobs_j)):
        books.same(f"summary's {name}", getattr(energy, name), wanted, ledger.total_j)
    books.same("summary's kWh", energy.total_kwh * 3.6e6, ledger.total_j)
    books.same("energy of node classes", math.fsum(row.energy_j for row in summary.classes), ledger.total_j)
    if ledger.woke_s:
        books.same("time of waking", summary.waking_s.mean * summary.waking_s.count, math.fsum(ledger.woke_s.values()))
    if summary.span.duration_s > 0:
        books.same("mean power", power.mean_w * summary.span.duration_s, ledger.total_j)
        books.same("consumption as a queue", summary.service.energy_consumption_w.mean, power.mean_w)
    held_s = math.fsum(s for (_, what), s in ledger.class_s.items() if what == BUSY)
    if not np.any(result.state.preemptions):  # pauses hold nodes and are no run time
        for rows in (summary.users, summary.kinds, summary.sizes):
            books.same("node-seconds of groups", math.fsum(row.node_s for row in rows), held_s)
    for name in ("users", "groups", "kinds", "partitions"):
        books.same(f"energy of {name}", math.fsum(row.energy_j for row in getattr(summary, name)), jobs_j)
    if result.options.kinds:
        books.same("energy of promised kinds", math.fsum(row.energy_j for row in summary.qos), jobs_j)
    if summary.capping is not None:
        whole = summary.capping.whole
        books.same("energy above the limit", whole.above_j, power.above_limit_j)
        books.same("time above the limit", whole.seconds.above, power.above_limit_s)
        books.same("time with a limit", whole.seconds.total, power.limited_s)
        books.same("the worst above the limit", whole.worst_w, power.worst_above_w)
    if summary.regulation is not None:
        standby = [kind.name for kind in result.options.kinds if kind.standby]
        wanted = math.fsum(row.energy_j for row in summary.kinds if row.name in standby)
        books.same("energy of standby jobs", summary.regulation.standby_j, wanted)


# ------------------------------------------------------------------ money


def _billing(result: Result) -> Billing:
    """Return prices that change at odd times; where a bid holds, hours that are billed from a warm-up on."""
    start_s = float(result.state.start_s[0])
    steps = start_s + np.array([0.0, 700.3, 2000.0, 5000.0])
    energy = Held(steps, np.array([0.08, 0.21, -0.02, 0.13]))
    book = Book(
        Paper(),
        {"energy": energy, "reserve": constant(0.05), "error": constant(0.03)},
        Held(steps, np.array([0.4, 0.3, 0.2, 0.1])),
    )
    hours = None
    if result.options.signal is not None:
        hours = tuple((start_s + 600.0 + 3600.0 * k, start_s + 4200.0 + 3600.0 * k) for k in range(3))
    return Billing(book, start_s, hours, about={"rules": "paper"})


def _money(books: Comparison, result: Result, billing: Billing, hours: Any, summary: Summary, ledger: Ledger) -> None:
    """Rows, their sums, the bill and the summary."""
    start_s, end_s = float(result.state.start_s[0]), float(result.state.now[0])
    if not hours:
        books.same("a bill of no time", end_s, start_s)
        return
    edges = [*hours["start_s"].tolist(), float(hours["end_s"][-1])]
    books.same("the bill begins", edges[0], start_s)
    books.same("the bill ends", edges[-1], end_s)
    if hours["end_s"].tolist() != edges[1:]:
        books.same("rows of the bill that follow each other", 0.0, 1.0)
    books.same("energy of the bill", math.fsum(hours["energy_kwh"].tolist()) * 3.6e6, ledger.total_j)
    for i, (begin, end) in enumerate(pairwise(edges)):
        wanted = _row(result, billing.book, ledger, begin, end)
        for name, value in wanted.items():
            books.same(f"{name} of row {i} of the bill", float(hours[name][i]), value)
    billed = hours["billed"] == 1
    if billing.hours is None:
        books.same("rows that are billed", float(billed.sum()), float(billed.size))
    else:
        ended = [(a, b) for a, b in billing.hours if b <= end_s]
        inside = [any(a <= begin and end <= b for a, b in ended) for begin, end in pairwise(edges)]
        books.same("rows that are billed", float(billed.sum()), float(np.sum(inside)))
    accounts = summary.accounts
    if accounts is None:
        books.same("accounts of the summary", math.nan, 1.0)
        return
    for name in (
        "energy_kwh",
        "energy_cost",
        "drawn_cost",
        "bid_cost",
        "capacity_credit",
        "error_cost",
        "cost",
        "carbon_kg",
    ):
        wanted = math.fsum(hours[name][billed].tolist())
        got = getattr(accounts.total, name)
        books.same(f"{name} of all days", math.fsum(getattr(day.total, name) for day in accounts.days), wanted)
        if not (name == "carbon_kg" and not billed.any()):
            books.same(f"{name} of the summary", got, wanted)
    books.same(
        "hours of the summary", accounts.total.hours * 3600.0, float((hours["end_s"] - hours["start_s"])[billed].sum())
    )
    parts = accounts.total
    books.same(
        "cost", parts.cost, parts.energy_cost - parts.capacity_credit - parts.performance_credit + parts.error_cost
    )
    if summary.regulation is not None:
        books.same("cost of the market", summary.regulation.cost, parts.cost)
        books.same("hours of the market", math.fsum(row.cost for row in summary.regulation.hours), parts.cost)
    books.same("cost of the run", summary.cost, parts.cost)


def _served(books: Comparison, result: Result, hours: Any, summary: Summary) -> None:
    """Jobs whose service counts are those submitted in hours that are billed."""
    if hours:
        spans = [
            (a, b) for a, b, billed in zip(hours["start_s"], hours["end_s"], hours["billed"], strict=True) if billed
        ]
        wanted = sum(any(a <= t < b for a, b in spans) for t in result.jobs.submit_s.tolist())
        books.same("jobs whose service counts", float(sum(row.jobs for row in summary.qos)), float(wanted))


def _row(result: Result, book: Book, ledger: Ledger, begin_s: float, end_s: float) -> dict[str, float]:
    """Return what a row of the bill must say, piece by piece between any two changes."""
    times, means, reserves = bid_steps(*(result.logs[name] for name in ("ev_time_s", "ev_kind", "ev_value")))
    signal = result.options.signal
    price, carbon = book.prices["energy"], book.carbon
    assert carbon is not None
    cuts = {begin_s, end_s, *(t for t, _ in ledger.steps), *price.time_s.tolist(), *times.tolist()}
    if signal is not None:
        cuts |= {signal.start_s + k * signal.step_s for k in range(signal.values.size + 1)}
    inside = sorted(t for t in cuts if begin_s <= t <= end_s)
    at = [t for t, _ in ledger.steps]
    found: dict[str, list[float]] = {
        name: [] for name in ("energy_kwh", "energy_cost", "drawn_cost", "capacity_credit", "error_cost", "carbon_kg")
    }
    for a, b in pairwise(inside):
        middle, hours = (a + b) / 2, (b - a) / 3600.0
        watts = ledger.steps[max(0, bisect.bisect_right(at, middle) - 1)][1]
        dollars = float(price.values[np.searchsorted(price.time_s, middle, side="right") - 1])
        kilos = float(carbon.values[np.searchsorted(carbon.time_s, middle, side="right") - 1])
        bid = int(np.searchsorted(times, middle, side="right")) - 1
        mean_w = float(means[bid]) if bid >= 0 else math.nan
        found["energy_kwh"].append(watts / 1e3 * hours)
        found["drawn_cost"].append(dollars * watts / 1e3 * hours)
        found["carbon_kg"].append(kilos * watts / 1e3 * hours)
        if math.isnan(mean_w) or signal is None:
            found["energy_cost"].append(dollars * watts / 1e3 * hours)
            continue
        target_w = mean_w + float(reserves[bid]) * float(signal.at(middle))
        found["energy_cost"].append(dollars * mean_w / 1e3 * hours)
        found["capacity_credit"].append(0.05 * float(reserves[bid]) / 1e3 * hours)
        found["error_cost"].append(0.03 * abs(watts - target_w) / 1e3 * hours)
    sums = {name: math.fsum(values) for name, values in found.items()}
    return sums | {"cost": sums["energy_cost"] - sums["capacity_credit"] + sums["error_cost"]}
