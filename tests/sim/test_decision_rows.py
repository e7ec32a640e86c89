"""Decision rows say what they are: every kind of decision has columns of its own, and the others are empty."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from wattline.journal.journal import EVENTS, open_journal
from wattline.scenario import read_scenario, variants, wire

MARKET = """
seed = 3
kinds = {{workload = "W2", average = true}}
[trace]
generator = "kinds"
duration = "2 h"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "qoscap"
cap = "match-target"
bid = "{bid}"
[regulation]
"""

GREEDY = """
from wattline import policy

@policy("bid")
def greedy(s, hour, param, memory):
    s.want_mean_w[0] = 9000.0 if hour == 0 else 1e9
    s.want_reserve_w[0] = 1000.0 + hour
    return 1
"""


def decisions(folder: Path, text: str) -> pl.DataFrame:
    """Run a scenario and return its decisions."""
    (folder / "s.toml").write_text(text)
    study = wire(variants(read_scenario(folder / "s.toml"))[0])
    study.write(study.simulate(), folder / "out")
    return open_journal(folder / "out").read("decisions")


def filled(rows: pl.DataFrame) -> set[str]:
    """Return the columns that are not empty in any row, beside those that every row has."""
    common = ("time_s", "slot", "action", "why", "verdict")
    found = rows.drop(common)
    return {name for name in found.columns if not found[name].cast(pl.String).fill_null("").eq("").any()}


def test_a_bid_is_no_cap(tmp_path: Path) -> None:
    """Bids have mean power and reserve, taken or refused; caps of rate classes say which, and how many jobs they
    are for.
    """
    (tmp_path / "greedy.py").write_text(GREEDY)
    rows = decisions(tmp_path, MARKET.format(bid="greedy.py"))
    bids, caps = (rows.filter(pl.col("action") == name) for name in ("bid", "cap"))
    assert bids.select("mean_w", "reserve_w").rows() == [(9000.0, 1000.0), (1e9, 1001.0)]
    assert bids["verdict"].to_list() == ["accepted", "not a bid that the machine can keep"]
    assert (set(bids["slot"]), filled(bids)) == ({"bid"}, {"mean_w", "reserve_w"})
    assert caps.height
    assert (set(caps["slot"]), filled(caps)) == ({"cap"}, {"rate_class", "class_jobs"})
    assert caps["cap_w"].count()  # null where a cap was lifted
    starts = rows.filter(pl.col("action") == "start")
    assert filled(starts) >= {"job_id", "nodes"}
    assert starts.select("rate_class", "class_jobs", "level", "mean_w", "reserve_w").null_count().row(0) == (
        (starts.height,) * 5
    )


def test_events_are_all_named() -> None:
    """Every event that a run can log is in the list that the journal documents."""
    from wattline.wiring.tables import _EVENT_NAMES

    assert set(_EVENT_NAMES) == set(EVENTS)
