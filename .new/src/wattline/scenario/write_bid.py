"""Put a chosen bid, its weights and the policy's parameters into a scenario, as text that reads back to the same
numbers.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.errors import ScenarioError, shorten
from wattline.files import read_regular, refuse_journal_file
from wattline.report.show import printable
from wattline.scenario.documents import Document
from wattline.scenario.inputs import is_same, refuse_input
from wattline.scenario.read.toml_read import loads
from wattline.scenario.read.toml_text import to_toml
from wattline.scenario.sections.kinds import is_response_file, named_kinds
from wattline.scenario.sections.regulation.made_for import made_for
from wattline.scenario.sections.regulation.regulation import FITTED, GAUSSIAN, RegulationSpec, law_of_signal
from wattline.scenario.sections.series import SERIES, is_price

if TYPE_CHECKING:
    from wattline.bidding.hours.setting import Setting
    from wattline.bidding.searches.choice import Choice


MADE = "# Made by wattline bid --write, which replaces it without asking: put your own changes into another file."
"""First line of what is written: files without it are somebody's own."""


def refuse_own(document: Document, path: Path, force: str) -> None:
    """Refuse to write over the scenario that is read, or over a file that no ``bid --write`` of this scenario made.

    ``force`` says how to do it all the same.
    """
    if not path.exists():
        return
    held = "is there and not a file that wattline bid --write made"
    if not document.source.is_program and is_same(Path(document.source.file), path):
        held = "is the scenario that is read"
    else:
        with suppress(OSError, UnicodeDecodeError, ScenarioError, ValueError):
            text = read_regular(path).decode("utf-8-sig")
            there = loads(text).get("name", path.stem) if text.startswith(MADE) else None
            if there == document.spec.name:
                return
            if there is not None:
                held = f"holds the bid of {shorten(there)}, not of {document.spec.name!r}"
    raise ScenarioError(f"{path}: {held}; {force} overwrites it, or give another name")


def write_bid(document: Document, setting: Setting, choice: Choice, path: Path, verdict: Sequence[str] = ()) -> None:
    """Write the scenario with the bid in it, under its verdict.

    Files that it names are found from its new place too.
    """
    data = with_bid(document, setting, choice)
    _move(data, document.base, path.parent)
    head = MADE + "\n" + "".join(f"# {printable(line)}\n" for line in verdict)
    refuse_input(document, path, "--write", but=((),))
    refuse_journal_file(path)
    try:
        path.write_text(head + to_toml(data), encoding="utf-8")
    except OSError as problem:
        raise ScenarioError(f"{path}: cannot be written ({problem.strerror}); give another --write") from None


def with_bid(document: Document, setting: Setting, choice: Choice) -> dict[str, Any]:
    """Return the plain data of a scenario with a bid in it."""
    data = copy.deepcopy(document.data)
    market = data.setdefault("regulation", {})
    if "bid" not in (choice.params or {}):  # else its policy makes them, by the parameters below
        market["mean"], market["reserve"] = choice.bid.mean_w, choice.bid.reserve_w
    spec = document.spec.regulation or RegulationSpec()
    if choice.method != "given" or spec.made_for is None:  # a bid that was given stays one for the signal of its search
        days = () if choice.method == "given" else setting.records
        market["made_for"] = made_for(law_of_signal(spec, document.context), days, document.spec.late)
    if choice.weights is not None:
        weights = dict(zip((kind.name for kind in setting.kinds), choice.weights.tolist(), strict=True))
        _put_weights(data, weights)
    for slot, values in (choice.params or {}).items():
        _put_parameters(data, slot, values, setting)
    return data


def _put_weights(data: dict[str, Any], weights: dict[str, float]) -> None:
    for kind in data.get("kind", []):
        if not kind.get("standby"):
            kind["weight"] = weights.pop(kind["name"])
        else:
            weights.pop(kind["name"])
    if "kinds" in data:
        data["kinds"] = {**named_kinds(data["kinds"]), "weights": weights}


def _put_parameters(data: dict[str, Any], slot: str, values: Any, setting: Setting) -> None:
    names = getattr(setting.policies, slot).params
    policy = data.setdefault("policy", {})
    chosen = policy[slot][0] if isinstance(policy[slot], list) else policy[slot]
    own = chosen if isinstance(chosen, dict) else {"name": chosen}
    policy[slot] = {**own, **dict(zip(names, map(float, values), strict=False))}


def _move_prices(prices: dict[str, Any], moved: Callable[[str], str]) -> None:
    for name in SERIES:
        given = prices.get(name)
        if isinstance(given, str) and not is_price(given):
            prices[name] = moved(given)
        elif isinstance(given, dict) and "file" in given:
            prices[name] = {**given, "file": moved(given["file"])}


def _move(data: dict[str, Any], old: Path, new: Path) -> None:
    """Change relative paths for a file that lies elsewhere."""
    if old.resolve() == new.resolve():
        return

    def moved(name: str) -> str:
        return name if Path(name).is_absolute() else os.path.relpath((old / name).resolve(), new.resolve())

    if "kinds" in data:
        data["kinds"] = named_kinds(data["kinds"])
    places = [(data.get(section, {}), "file") for section in ("trace", "regulation", "kinds")]
    if data.get("regulation", {}).get("signal", GAUSSIAN) not in (GAUSSIAN, FITTED):
        places.append((data["regulation"], "signal"))
    places += [(kind, "response") for kind in data.get("kind", []) if is_response_file(kind.get("response"))]
    for table, key in places:
        if isinstance(table.get(key), list):
            table[key] = [moved(name) for name in table[key]]
        elif key in table:
            table[key] = moved(table[key])
    _move_prices(data.get("prices", {}), moved)
    policy = data.get("policy", {})
    for slot, pick in policy.items():
        if isinstance(pick, str) and ".py" in pick:
            policy[slot] = moved(pick)
        elif isinstance(pick, dict) and ".py" in pick["name"]:
            policy[slot] = {**pick, "name": moved(pick["name"])}
