"""Signals and load targets beside the journal, so that a restart is no gap in what the site is asked for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from wattline.errors import InputError
from wattline.live.signals.open import Signals

FILE = "signals.json"
EVERY_S = 10.0
"""Machine seconds after which it is written anew, where neither load targets nor the limit changed before."""


class SignalKeeper:
    """Writes what the signals of a site must not forget, when it changes and now and then."""

    def __init__(self, folder: Path, signals: Signals) -> None:
        self._path, self._signals = folder / FILE, signals
        self._asked: Any = None
        self._kept_s = -math.inf

    def keep(self, now_s: float) -> str:
        """Write it where it is due; return why that was not possible, or nothing."""
        data = self._signals.to_data()
        asked = json.dumps(data["targets"]), data["limit"].get("value"), data["limit"].get("until_s")
        if asked == self._asked and 0.0 <= now_s - self._kept_s < EVERY_S:
            return ""
        self._asked, self._kept_s = asked, now_s
        new = self._path.with_suffix(".new")
        try:
            new.write_text(json.dumps(data), encoding="utf-8")
            new.replace(self._path)
        except OSError as problem:
            why = problem.strerror or problem
            return f"{self._path}: cannot be written ({why}); a restart would forget limits and load targets"
        return ""

    def restore(self, now_s: float) -> str:
        """Take up what was kept; return why that was not possible, or nothing."""
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            self._signals.restore(data, now_s)
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError) as problem:
            return f"{self._path}: cannot be taken up ({problem}); limits and load targets of before are forgotten"
        return ""
