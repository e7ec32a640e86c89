"""A run beside the one that took part in no market: the same jobs, what they cost, drew and waited."""

from __future__ import annotations

from pathlib import Path

from wattline.journal.journal import BASELINE, is_journal, open_journal, read_manifest
from wattline.report.count.compare import Comparison, Metric, compare
from wattline.report.count.metrics import Summary, summarize

METRICS: tuple[Metric, ...] = (
    Metric("cost", "cost", "$"),
    Metric("accounts.total.energy_kwh", "energy of the billed time", "kWh"),
    Metric("accounts.total.carbon_kg", "carbon", "kg CO₂"),
    Metric("energy.total_j", "energy, whole run", "J"),
    Metric("jobs.finished", "jobs finished", "jobs", "higher"),
    Metric("worst_violation", "worst kind beyond its limit", "share"),
    Metric("worst_mean_q", "worst mean degradation Q", ""),
    Metric("wait_s.mean", "wait, mean", "s"),
    Metric("bounded_slowdown.mean", "bounded slowdown, mean", ""),
    Metric("utilization", "utilization", "share", "higher"),
)


def baseline_of(folder: Path) -> Summary | None:
    """Return the numbers of the run that a journal is held against, if there is one that was carried through."""
    path = folder / BASELINE
    if not is_journal(path) or read_manifest(path).get("stopped") == "interrupted":
        return None
    return summarize(open_journal(path))


def beside(summary: Summary, baseline: Summary) -> Comparison:
    """Compare a run with its baseline, which stands first so that differences are against it."""
    label = f"no market ({baseline.policies.get('select', '')})"
    return compare({label: [baseline], summary.name or "this run": [summary]}, METRICS)
