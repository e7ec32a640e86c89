"""An hour of a setting as a journal: simulated with everything logged, so that reports and figures can show it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from wattline.bidding.hours.setting import Setting
from wattline.bidding.hours.trial import trial_hour
from wattline.bidding.searches.choice import Choice, reach_of
from wattline.journal.journal import Journal, open_journal, write_journal
from wattline.market.bill import Bids, bill_hours, columns_of
from wattline.model.kinds import column
from wattline.wiring.manifest import Known, manifest, regulation_entry
from wattline.wiring.tables import frames


def journal_of(folder: Path, setting: Setting, seed: int, choice: Choice, name: str) -> Journal:
    """Simulate an hour under what was chosen, write its journal and open it."""
    hour = trial_hour(setting, seed, watched=True)
    hour.run(choice.bid, choice.weights, choice.params)
    result = hour.world.simulation.result("until")
    weights = column(setting.kinds, "weight") if choice.weights is None else choice.weights
    known = Known(
        kinds=[replace(kind, weight=float(w)) for kind, w in zip(setting.kinds, weights, strict=True)],
        regulation=regulation_entry(
            choice.bid,
            reach_of(setting, choice.bid),
            [(hour.begin_s, hour.end_s)],
            (0.0, hour.last_s),
            {"law": "drawn", "seed": seed, "step_s": hour.signal.step_s},
        ),
    )
    about = manifest(result, name=name, source=f"kinds of job, drawn with seed {seed}", known=known)
    for slot, values in (choice.params or {}).items():
        names = getattr(result.policies, slot).params
        about["parameters"][slot] |= dict(zip(names, map(float, values), strict=False))
    tables = frames(result)
    rows = bill_hours(
        tables["timeline"]["time_s"],
        tables["timeline"]["power_w"],
        np.array([hour.begin_s, hour.end_s]),
        setting.prices.of_hour(seed, hour.begin_s),
        signal=hour.signal,
        bids=Bids(*hour.world.simulation.bids()),
    )
    write_journal(folder, tables | {"hours": columns_of(rows)}, about)
    return open_journal(folder)
