"""No table, sentence or message has a number like 1.2e+03, however large the machine or its bill."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from calling import SCENARIO, Call

import wattline as wl
from wattline.api.bid_words import amount
from wattline.scenario import read_scenario, variants
from wattline.units import in_full

EXPONENT = re.compile(r"\de[+-]\d")

LARGE = SCENARIO.replace('"100 W"', '"100 kW"').replace('"300 W"', '"300 kW"').replace("nodes = 16\n", "nodes = 6000\n")

MARKET = """\
name = "sold"
kinds = "W14"
[trace]
generator = "kinds"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "8.5 kW"
reserve = "1.5 kW"
[prices]
energy = 123456.0
reserve = 98765.4
error = 55555.5
"""

PURCHASE = Path(__file__).parents[2] / "examples" / "plans" / "purchase.toml"
BIG = {'"7 kW"': '"7 MW"', "12000": "12000000"}

COMMANDS = {
    "run": ("run", "large.toml", "--out", "o"),
    "compare": ("compare", "large.toml", "--vary", "limit.power=off,700 MW", "--seeds", "2", "--out", "o"),
    "sweep": ("sweep", "large.toml", "--vary", "cluster.nodes=6000,600,60", "--seeds", "2", "--keep", "summary"),
    "plan": ("plan", "purchase.toml"),
    "bid": ("bid", "sold.toml", "--method", "given", "--hours", "3", "--out", "o"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_tables_have_no_exponents(wattline: Call, folder: Path, words: tuple[str, ...]) -> None:
    """Gigawatts, and bills of thousands of dollars an hour, are shown in full or in units that fit them."""
    (folder / "large.toml").write_text(LARGE)
    (folder / "sold.toml").write_text(MARKET)
    (folder / "purchase.toml").write_text(re.sub(r'"7 kW"|12000', lambda m: BIG[m[0]], PURCHASE.read_text()))
    answer = wattline(*words)
    assert answer.code in (0, 3), answer.err
    assert len(answer.out) > 250
    found = [line for line in answer.out.splitlines() if EXPONENT.search(line)]
    assert found == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ('mean = "8.5 MW"', "mean power 8,500,000 W is outside"),
        ('reserve = "1.5 GW"', "reserve 1,500,000,000 W is more than the 15444 W"),
    ],
)
def test_messages_have_no_exponents(wattline: Call, folder: Path, change: str, told: str) -> None:
    """A bid that is far beyond the machine is refused in watts that one can read."""
    key = change.partition(" ")[0]
    (folder / "sold.toml").write_text(re.sub(rf"^{key} = .*$", change, MARKET, count=1, flags=re.MULTILINE))
    answer = wattline("run", "sold.toml", "--out", "o")
    assert answer.code == 2
    assert told in answer.err
    assert not EXPONENT.search(answer.err)


def test_labels_and_defaults_have_no_exponents(wattline: Call, folder: Path) -> None:
    """Parameters of millions stand in labels as they are written."""
    cap = 'policy.cap=[{name = "workload-hysteresis", k_low = 1000000, k_high = 25000000}, "none"]'
    (folder / "s.toml").write_text(SCENARIO)
    answer = wattline("policies", "workload-hysteresis")
    assert not EXPONENT.search(answer.out)
    document = read_scenario(folder / "s.toml", [cap])
    labels = [one.label for one in variants(document)]
    assert labels[0] == "workload-hysteresis (k_low = 1,000,000, k_high = 25,000,000)"


def test_numbers_are_written_in_full() -> None:
    """Whatever the digits, a number between a quadrillionth and a quadrillion has no exponent and its value."""
    for power in range(-14, 15):
        for first in (1.0, -2.5, 9.99996):
            value = first * 10.0**power
            for digits in (1, 3, 6):
                text = in_full(value, digits)
                assert "e" not in text
                assert float(text.replace(",", "")) == pytest.approx(value, rel=6 * 10.0**-digits)
                if 1e-4 <= abs(value) < 10.0 ** (digits - 1):
                    assert text == f"{value:.{digits}g}"
    assert (in_full(float("inf")), in_full(float("nan")), in_full(0.0)) == ("inf", "nan", "0")


WRITERS = {
    "units.py",
    "memory.py",
    "report/show.py",
    "generate/laws.py",
    "learn/configs/fitted.py",
    "cli/live/agents.py",
}
"""Who write numbers for all others, or numbers whose size is known, or files."""


def test_nobody_else_writes_a_few_digits_that_may_become_an_exponent() -> None:
    """Three digits of 12,345 are 1.23e+04: the source leaves that to those who know better."""
    root = Path(wl.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"(?<!%)\{[^{}\n]*:[,+]?\.[1-5]g\}", path.read_text(encoding="utf-8"))
    }
    assert found <= WRITERS


@pytest.mark.parametrize(
    ("dollars", "told"), [(1234.5678, "$1,235"), (0.58341, "$0.5834"), (12345678.0, "$12,345,678")]
)
def test_amounts_are_written_in_full(dollars: float, told: str) -> None:
    """Small ones to four digits, large ones to the dollar."""
    assert amount(dollars) == told
