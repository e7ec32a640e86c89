"""``wattline bid`` chooses, certifies, writes, and says plainly when a promise cannot be kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call
from rich.cells import cell_len

from wattline.bidding.hours.laws import GaussianLaw
from wattline.scenario import read_scenario
from wattline.units import HOUR_S

DEMAND_RESPONSE = Path(__file__).parents[2] / "docs" / "demand-response.md"

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
[bid]
hours = 4
"""


@pytest.fixture
def market(folder: Path) -> Path:
    """A scenario with a bid in it."""
    (folder / "sold.toml").write_text(MARKET)
    return folder / "sold.toml"


def test_a_bid_is_printed_with_its_certificate(wattline: Call, market: Path) -> None:
    """Mean power, reserve, parameters, every constraint, the costs and what limits the reserve, in 80 columns."""
    answer = wattline("bid", market, "--method", "given")
    assert answer.code == 3  # four hours are too few to be sure
    for text in (
        "P̄ = 8.5 kW",
        "R = 1.5 kW, reach paper",
        "force 0.95",
        "4 stationary hours",
        "tracking, ε > 30 %",
        "ep.D.56, Q ≥ 2",
        "sp.C.64, Q ≥ 2.2",
        "bt.C.16, Q ≥ 2.5",
        "95 % interval",
        "for the power that was drawn",
        "for the mean power that was bid",
        "out of reach",
        "limits R",
    ):
        assert text in answer.out, text
    assert answer.out.index("power that was drawn") < answer.out.index("mean power that was bid")
    assert all(cell_len(line) <= 80 for line in answer.out.splitlines())
    assert "testing on 4 fresh hours" in answer.err


def test_json_holds_the_certificate_alone(wattline: Call, market: Path, folder: Path) -> None:
    """``--json`` prints numbers, limits and rates; ``--out`` keeps the same; ``--quiet`` says nothing."""
    answer = wattline("bid", market, "--method", "given", "--json", "--out", "kept")
    found = json.loads(answer.out)
    assert (found["mean_w"], found["reserve_w"], found["hours"], found["method"]) == (8500.0, 1500.0, 4, "given")
    assert [p["about"] for p in found["promises"]] == ["tracking error above 30 %", "ep.D.56", "sp.C.64", "bt.C.16"]
    assert found["cost_low"] < found["cost"] < found["cost_high"]
    assert json.loads((folder / "kept/certificate.json").read_text()) == found
    silent = wattline("bid", market, "--method", "given", "--quiet")
    assert (silent.out, silent.err) == ("", "")


@pytest.mark.parametrize("text", [MARKET, MARKET.replace('"slackline"', '{name = "gps", carry = 1}')])
def test_a_written_bid_has_the_same_certificate(wattline: Call, folder: Path, text: str) -> None:
    """``--write`` puts the bid into a scenario; its certificate by ``--method given`` has exactly the same rates."""
    (folder / "sold.toml").write_text(text)
    (folder / "below").mkdir()
    first = json.loads(
        wattline(
            "bid", "sold.toml", "--method", "heuristic", "--reach", "strict", "--json", "--write", "below/w.toml"
        ).out
    )
    again = json.loads(wattline("bid", "below/w.toml", "--method", "given", "--json").out)
    assert first["reach"] == again["reach"] == "strict"
    for key in ("mean_w", "reserve_w", "promises", "cost", "without_drawn", "error"):
        assert first[key] == again[key]


def test_figures_are_kept_beside_the_certificate(wattline: Call, folder: Path) -> None:
    """``--out`` writes a page with errors and service; under weights also their history and delays beside the
    theory.
    """
    from wattline.bidding import choose
    from wattline.bidding.searches import aqa

    (folder / "sold.toml").write_text(MARKET.replace("slackline", "gps"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "aqa_bid", lambda trial, mode: aqa.aqa_bid(trial, mode=mode, iterations=3))
        answer = wattline("bid", "sold.toml", "--method", "aqa", "--out", "kept")
    assert "kept/bid.html" in answer.out
    page = (folder / "kept/bid.html").read_text(encoding="utf-8")
    for text in (
        "sold: AQA with gps on 36 nodes",
        "tracking error above 30 %",
        "ep.D.56, Q ≥ 2",
        "Tracking error",
        "Service by kind",
        "Weights over the steps of AQA",
        "Delays, and what the theory says of them",
        "theory corrected",
        "limits R",
    ):
        assert text in page, text
    data = json.loads((folder / "kept/certificate.json").read_text())
    assert [step["iteration"] for step in data["history"]] == [0, 1, 2]


def test_a_policy_without_weights_has_no_theory(wattline: Call, market: Path, folder: Path) -> None:
    """Slackline's page has errors and service alone; a kind without a limit is said where the theory would be."""
    wattline("bid", market, "--method", "given", "--out", "one", "--quiet")
    page = (folder / "one/bid.html").read_text(encoding="utf-8")
    assert "Service by kind" in page
    assert "Weights over" not in page
    assert "theory" not in page[: page.index("<script>")]
    free = '[[kind]]\nname = "free"\nnodes = 1\ntime = 60\npower = 300\nrate = "9/h"\nweight = 0.1\n'
    weights = 'kinds = {workload = "W14", weights = {"ep.D.56" = 0.3, "sp.C.64" = 0.3, "bt.C.16" = 0.3}}'
    (folder / "sold.toml").write_text(MARKET.replace("slackline", "gps").replace('kinds = "W14"', weights) + free)
    wattline("bid", "sold.toml", "--method", "given", "--out", "two", "--quiet")
    page = (folder / "two/bid.html").read_text(encoding="utf-8")
    assert "says nothing here: kind &#x27;free&#x27; has no QoS limit" in page


def test_weights_and_parameters_are_written_too(folder: Path) -> None:
    """Weights of published and own kinds, and parameters of the policy, read back to the same numbers."""
    import numpy as np

    from wattline.bidding.hours.outcome import Outcome
    from wattline.bidding.searches.choice import Choice
    from wattline.model.regulation import Bid
    from wattline.scenario.setting import build_setting
    from wattline.scenario.write_bid import write_bid

    own = '[[kind]]\nname = "own"\nnodes = 1\ntime = 60\npower = 300\nrate = "9/h"\n'
    fill = '[[kind]]\nname = "fill"\nnodes = 1\ntime = 60\npower = 300\nstandby = true\n'
    (folder / "mine.py").write_text("")
    (folder / "sold.toml").write_text(MARKET + own + fill)
    document = read_scenario(folder / "sold.toml")
    setting = build_setting(document)
    weights = np.array([0.1, 0.2, 1 / 3, 1 - 0.3 - 1 / 3, 0.0])
    choice = Choice("x", Bid(1e4 / 3, 10.0), Outcome((), ()), weights, {"select": (0.7, 0.6, 0.5, 1.0)})
    write_bid(document, setting, choice, folder / "new.toml")
    read = build_setting(read_scenario(folder / "new.toml"))
    assert [kind.weight for kind in read.kinds] == weights.tolist()
    assert read.policies.params["select"] == {"force": 0.7, "hold": 0.6, "slow": 0.5, "stop": 1.0}
    market = read_scenario(folder / "new.toml").spec.regulation
    assert market is not None
    assert market.mean == 1e4 / 3


def test_a_broken_promise_is_said_plainly(wattline: Call, market: Path) -> None:
    """A bid that cannot be kept ends with exit code 3, names what is broken, by how much, and marks it."""
    answer = wattline(
        "bid", market, "--method", "given", "--set", "regulation.mean=6200", "--set", "regulation.reserve=100"
    )
    assert answer.code == 3
    assert "BROKEN" in answer.out
    assert "\nBROKEN: a promise is not kept" in answer.out
    assert "ep.D.56: " in answer.out.partition("\nBROKEN: ")[2]
    assert "of its jobs reach Q ≥ 2, 10 % allowed" in answer.out
    assert "the jobs need 7.78 kW even at their lowest caps" in answer.out
    assert all(cell_len(line) <= 80 for line in answer.out.splitlines())


EASY_TO_KEEP = (
    "--method",
    "given",
    "--set",
    "regulation.mean=9000",
    "--set",
    "regulation.reserve=2000",
    "--hours",
    "24",
)
"""A moderate reserve above the load: no constraint is near its limit."""

RECORDED = ("--set", "regulation.signal=day.csv")


@pytest.fixture
def day(folder: Path) -> Path:
    """Two recorded hours of a gentle signal."""
    import math

    rows = (f"{2 * i},{0.5 * math.sin(i / 60):.4f}" for i in range(3601))
    (folder / "day.csv").write_text("time_s,signal\n" + "\n".join(rows) + "\n")
    return folder / "day.csv"


def test_a_certified_bid_ends_with_exit_code_0(wattline: Call, market: Path, folder: Path) -> None:
    """A bid whose constraints are all kept with confidence is CERTIFIED: on the terminal, the page, in JSON and in what
    is written.
    """
    kept = (*EASY_TO_KEEP, "--out", "kept", "--write", "new.toml")
    answer = wattline("bid", market, *kept)
    assert answer.code == 0, answer.out
    verdict = "CERTIFIED: all promises are kept, with 95 % confidence each"
    assert f"\n{verdict}\n" in answer.out
    assert "for hours drawn from the law of this signal" in answer.out
    found = json.loads((folder / "kept/certificate.json").read_text())
    assert (found["certified"], found["kept"], found["verdict"], found["evidence"]) == (True, True, verdict, "drawn")
    assert f">{verdict}<" in (folder / "kept/bid.html").read_text(encoding="utf-8")
    assert f"# {verdict}\n" in (folder / "new.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("how", [EASY_TO_KEEP, ("--method", "search", "--quick")], ids=["given", "search"])
def test_one_recorded_day_certifies_nothing(
    wattline: Call, market: Path, folder: Path, day: Path, how: tuple[str, ...]
) -> None:
    """One record tells nothing of other days: that is said everywhere, with exit code 3, and the bid is written."""
    wanted = (*how, *RECORDED, "--set", f"bid.method={how[1]}", "--out", "kept", "--write", "new.toml")
    answer = wattline("bid", market, *wanted)
    assert answer.code == 3
    found = json.loads((folder / "kept/certificate.json").read_text())
    assert not found["certified"]
    assert found["evidence"] == ("unsearched" if how is EASY_TO_KEEP else "searched")
    assert found["word"] in ("NOTHING KNOWN ABOUT OTHER DAYS", "BROKEN")
    assert f"\n{found['verdict']}\n" in answer.out
    assert all(cell_len(line) <= 80 for line in answer.out.splitlines())
    page = (folder / "kept/bid.html").read_text(encoding="utf-8")
    assert f">{found['verdict']}<" in page
    assert f"# {found['verdict']}\n" in (folder / "new.toml").read_text(encoding="utf-8")


def test_recorded_days_are_left_out_in_turn(wattline: Call, market: Path, folder: Path) -> None:
    """Terminal, page, JSON and written file of a bid on several days agree: a row a day, model, margin, verdict."""
    for k in range(5):
        signal = GaussianLaw()(2 * HOUR_S, 200 + k)
        rows = "".join(f"{2 * i},{y:.6f}\n" for i, y in enumerate(signal.values))
        (folder / f"day-{k}.csv").write_text("t_s,y\n" + rows)
    days = "regulation.signal=[" + ",".join(f'"day-{k}.csv"' for k in range(5)) + "]"
    wanted = ("--set", days, "--quick", "--across-records", "--out", "kept", "--write", "new.toml")
    answer = wattline("bid", market, *wanted)
    assert answer.code in (0, 3), answer.err
    found = json.loads((folder / "kept/certificate.json").read_text())
    assert (found["evidence"], found["records"], found["hours"]) == ("left out in turn", 5, 10)
    assert [row["name"] for row in found["days"]] == [f"day-{k}" for k in range(5)]
    assert all(row["plain_cost"] is not None for row in found["days"])
    assert found["margin"]["part"] > -0.01
    assert found["certified"] == (answer.code == 0) == (found["word"] == "CERTIFIED")
    tracking = found["promises"][0]
    assert tracking["rate"] == pytest.approx(sum(row["exceed"] for row in found["days"]) / 5)
    assert tracking["next_day_high"] > tracking["high"]
    for text in ("left out", "day-3", "no margin", "days as draws", found["verdict"]):
        assert text in answer.out, text
    assert all(cell_len(line) <= 80 for line in answer.out.splitlines())
    page = (folder / "kept/bid.html").read_text(encoding="utf-8")
    assert "day-4" in page
    assert "next day, 95 %" in page
    written = (folder / "new.toml").read_text(encoding="utf-8")
    assert f"# {found['verdict']}\n" in written
    again = read_scenario(folder / "new.toml")
    assert again.spec.regulation.made_for.records == len(again.spec.regulation.made_for.days) == 5
    for k in range(5):
        rounded = GaussianLaw()(2 * HOUR_S, 200 + k).values.round(3)
        (folder / f"copy-{k}.csv").write_text("t_s,y\n" + "".join(f"{2 * i},{y}\n" for i, y in enumerate(rounded)))
    for these in ((), ("--set", days.replace("day-", "copy-"))):
        tested = wattline("bid", "new.toml", "--method", "given", *these)
        assert (tested.code, "no search has looked at" in tested.out) == (3, False)
        assert "5 of these days were searched when the bid was made" in " ".join(tested.out.split())


def test_a_bid_for_one_signal_is_not_certified_for_another(
    wattline: Call, market: Path, folder: Path, day: Path
) -> None:
    """A bid written for one signal and tested on another of another law ends with exit code 3 and says in what they
    differ.
    """
    wattline("bid", market, *EASY_TO_KEEP, "--write", "new.toml")
    answer = wattline("bid", "new.toml", "--method", "given", "--hours", "24", "--set", "regulation.std=0.6")
    assert answer.code == 3
    assert "DOUBT: the bid was made for another signal" in answer.out
    assert all(cell_len(line) <= 80 for line in answer.out.splitlines())
    same = wattline("bid", "new.toml", "--method", "given", "--hours", "24")
    assert (same.code, "DOUBT" in same.out) == (0, False)


def test_page_and_terminal_say_the_same(wattline: Call, market: Path, folder: Path) -> None:
    """What the terminal calls UNSURE or BROKEN, the page and the JSON call so too; the bid is written all the same."""
    few = ("--method", "given", "--hours", "3")
    answer = wattline("bid", market, *few, "--out", "kept", "--write", "new.toml")
    assert answer.code == 3
    found = json.loads((folder / "kept/certificate.json").read_text())
    states = [promise["state"] for promise in found["promises"]]
    assert "UNSURE" in states, states
    assert found["kept"] == all(state == "kept" for state in states)
    assert '`kept` is true if every `state` is `"kept"`' in DEMAND_RESPONSE.read_text(encoding="utf-8")
    page = (folder / "kept/bid.html").read_text(encoding="utf-8")
    told = page[: page.index("<script>")]
    for state in ("kept", "UNSURE", "BROKEN"):
        assert told.count(f"<td>{state}</td>") == states.count(state)
    below = answer.out.partition(f"\n{found['verdict']}\n")[2]
    for promise in found["promises"]:
        assert (f"{promise['state']}: {promise['about']}: " in below) == (promise["state"] != "kept")
        assert (f"{promise['state']}: {promise['about']}: " in told) == (promise["state"] != "kept")
    assert found["verdict"] in told
    assert (folder / "new.toml").exists()


def test_what_a_drawn_signal_takes_from_data_is_said(wattline: Call, market: Path, folder: Path) -> None:
    """Terminal, page and JSON of a bid say which figures of a Gaussian signal come from a file, as a run does; without
    a file nothing is said.
    """
    values = GaussianLaw(0.3)(2 * HOUR_S, 5).values
    (folder / "y.csv").write_text("t_s,y\n" + "".join(f"{2 * i},{y:.4f}\n" for i, y in enumerate(values)))
    few = ("--method", "given", "--hours", "2", "--out", "kept", "--force")
    answer = wattline("bid", market, *few, "--set", "regulation.file=y.csv")
    told = json.loads((folder / "kept/certificate.json").read_text())["signal_taken"]
    assert told.startswith("signal: Gaussian, standard deviation 0.")
    assert told.endswith(" s taken from y.csv")
    said = told.removeprefix("signal: ")
    assert said in " ".join(answer.out.split())
    assert said in (folder / "kept/bid.html").read_text(encoding="utf-8")
    plain = wattline("bid", market, *few)
    assert (json.loads((folder / "kept/certificate.json").read_text())["signal_taken"], "taken" in plain.out) == (
        None,
        False,
    )


def test_the_help_tells_the_exit_codes(wattline: Call) -> None:
    """``wattline bid --help`` says when the exit code is 0 and when it is 3."""
    told = " ".join(wattline("bid", "--help").out.split())
    assert "exit code is 0 if the bid is certified" in told
    assert "It is 3 if not: a promise is BROKEN or UNSURE" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "aqa"), "method \"aqa\" chooses weights, which select policy 'slackline' does not use"),
        (
            ("--method", "given", "--set", "regulation.reserve=9 kW", "--reach", "strict"),
            "below the 6084 W that the idle cluster draws",
        ),
        (
            ("--method", "best"),
            "--method best: expected one of 'search', 'aqa', 'qosg', 'grid', 'grid-tracking', 'grid-least'",
        ),
        (("--hours", "1"), "--hours 1: must be at least 2"),
        (("--method", "given", "--set", 'policy.select=["gps","slackline"]'), "2 combinations of policies are listed"),
        (
            ("--method", "given", "--set", 'kinds={workload="W4", average=true}'),
            "is promised a mean (average): give average = false and a share",
        ),
        (("--method", "heuristic", "--write", "nowhere/x.toml"), "nowhere/x.toml: cannot be written"),
    ],
)
def test_what_cannot_be_bid_is_one_line(wattline: Call, market: Path, arguments: tuple[str, ...], message: str) -> None:
    """A wrong method, reach, flag or scenario is answered with one line and exit code 2."""
    answer = wattline("bid", market, *arguments, "--quiet")
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.splitlines()) == 1


def test_every_method_chooses(wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AQA, QoSG, the grid and the search return a bid within reach; AQA and QoSG show weights that sum to 1."""
    from wattline.bidding import choose
    from wattline.bidding.searches import aqa

    monkeypatch.setattr(choose, "SEARCH_SEEDS", range(10_000, 10_001))
    monkeypatch.setattr(choose, "PROOF_SEEDS", range(20_000, 20_002))
    monkeypatch.setattr(choose, "grid_bid", _coarse)
    monkeypatch.setattr(choose, "aqa_bid", lambda trial, mode: aqa.aqa_bid(trial, mode=mode, iterations=3))
    (folder / "gps.toml").write_text(MARKET.replace("slackline", "gps"))
    bids = {}
    for method in ("aqa", "qosg", "grid", "grid-tracking", "grid-least", "search"):
        found = json.loads(wattline("bid", "gps.toml", "--method", method, "--json", "--hours", "2").out)
        assert 36 * 169 < found["mean_w"] < 36 * 429
        if method in ("aqa", "qosg"):
            assert sum(found["weights"].values()) == pytest.approx(1.0)
        bids[method] = found["mean_w"], found["reserve_w"]
    assert len({bids[method] for method in ("grid", "grid-tracking", "grid-least")}) > 1


def _coarse(trial: object, mode: str, rule: str) -> object:
    from wattline.bidding.searches.grid import grid_bid

    return grid_bid(trial, mode=mode, step=0.3, rule=rule)  # type: ignore[arg-type]


def test_a_bid_without_a_reserve_has_no_error(wattline: Call, market: Path) -> None:
    """Errors are shares of the reserve: without one there is none, which is said instead of a zero."""
    answer = wattline("bid", market, "--method", "given", "--set", "regulation.reserve=0")
    assert answer.code == 3
    assert "no error is defined: nothing is offered (R = 0)" in answer.out
    assert "no tracking error is defined" in answer.out
    assert "no tracking error is defined" not in wattline("bid", market, "--method", "given").out
