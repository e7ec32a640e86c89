"""Run every example scenario and boil each run down to a few numbers; as a program, write them to golden.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLDEN = Path(__file__).with_name("golden.json")


def names() -> list[str]:
    """Return the example scenarios."""
    return sorted(path.stem for path in EXAMPLES.glob("*.toml"))


def run_example(name: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run all variants of an example; return label → numbers."""
    from wattline.journal.journal import open_journal
    from wattline.report.count.metrics import summarize
    from wattline.scenario import TraceCache, read_scenario, variants, wire

    traces, found = TraceCache(), {}
    for i, variant in enumerate(variants(read_scenario(EXAMPLES / f"{name}.toml"))):
        study = wire(variant, traces=traces)
        study.write(study.simulate(), folder / str(i))
        found[variant.label] = boil_down(summarize(open_journal(folder / str(i))))
    return found


def boil_down(summary: Any) -> dict[str, Any]:
    """Return the numbers that a change of behaviour would move."""
    counts = {key: n for key, n in summary.to_dict()["jobs"].items() if n}
    paths = (
        "wait_s.mean",
        "bounded_slowdown.mean",
        "utilization",
        "span.makespan_s",
        "energy.total_j",
        "energy.jobs_j",
        "energy.accounts_j",
        "power.peak_w",
    )
    if summary.regulation is not None:
        paths = (*paths, "regulation.cost", "regulation.error", "regulation.exceed_share")
    return {"jobs": counts, **{path: float(f"{summary.value(path):.12g}") for path in paths}}


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        summaries = {name: run_example(name, Path(scratch) / name) for name in names()}
    GOLDEN.write_text(json.dumps(summaries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
