"""What would not fit into memory is refused in one line, before it is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_scenario_errors import GOOD

from wattline import memory
from wattline.errors import InputError, RunError
from wattline.generate.jobs import MeggieLike, generate
from wattline.generate.signal import GaussianSignal, generate_signal
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.setting import build_setting
from wattline.wiring import bound

KINDS = """[trace]
generator = "kinds"
duration = "3 h"
[cluster]
nodes = 8
[[kind]]
name = "a"
nodes = 1
time = "10 min"
power = "200 W"
rate = "6/h"
"""


@pytest.fixture(autouse=True)
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 16 GB, whatever the tests run on."""
    monkeypatch.setattr(memory, "machine_bytes", lambda: 16e9)


def study(folder: Path, text: str) -> Study:
    """Wire a scenario."""
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml"))[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            GOOD.replace("jobs = 20", "jobs = 1000000000"),
            "drawing 1,000,000,000 jobs would take about 500 GB of memory, this machine has 16 GB",
        ),
        (KINDS.replace('"3 h"', "1e12"), "jobs would take about "),
        (KINDS.replace('"6/h"', "1e9"), "drawing 10,800,000,000,018 jobs would take about"),
        (
            KINDS + "[regulation]\nmean = 1000\nreserve = 10\nuntil = 1e12\n[run]\nuntil = 1e12\n",
            "277,777,777 hours would be billed, more than 1,000,000",
        ),
        (
            KINDS + "[regulation]\nmean = 1000\nreserve = 10\nstep = 0.001\nuntil = 3e9\n[run]\nuntil = 3e9\n",
            "a signal of 3,000,000,000,000 values would take about 300 TB",
        ),
        (GOOD.replace('"30/h"', "1e-9") + "[run]\ntick = 0.001\n", "control periods of 0.001 s would take about"),
        (GOOD + "[run]\ntick = '0.1 ms'\n", "[run] tick: must be at least 0.001 s"),
        (GOOD.replace("jobs = 20", "jobs = 500") + "[run]\ntick = '1 ms'\n", " control periods of 0.001 s would "),
        (
            GOOD.replace("jobs = 20", "jobs = 1").replace('"1 h"', '"30 d"') + "[run]\ntick = '1 ms'\n",
            " control periods of 0.001 s would ",
        ),
        (
            KINDS + "[regulation]\nmean = 1000\nreserve = 10\ncontrol = 1e-3\n",
            "10,800,000 control periods of 0.001 s would be made, more than 10,000,000; take a longer period, or end",
        ),
        (GOOD + "[profiles]\nsample = 1e-9\n", " samples of power of 0.000000001 s would take about"),
        (KINDS + "[bid]\nhours = 1000000000\n", "[bid] hours: must be at most 100000, got 1000000000"),
        (
            GOOD.replace('"30/h"', "1e-9") + "[prices]\nenergy = 0.1\n",
            "hours would be kept, more than 1,000,000; end the run earlier",
        ),
    ],
)
def test_too_much_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """Jobs, signals, control periods and hours are counted first; file and line say which key asks for so many."""
    with pytest.raises(InputError) as caught:
        study(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 's.toml'}:")
    assert "\n" not in str(caught.value)


def test_control_periods_of_a_search_are_counted(tmp_path: Path) -> None:
    """A search keeps many hours ready at once, each with room for its control periods."""
    text = KINDS + "[regulation]\ncontrol = 1e-3\n[policy]\nselect = 'gps'\ncap = 'match-target'\n"
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(
        InputError, match=r"s\.toml:\d+: 128 trial hours of .* control periods each would take about .* of memory"
    ):
        build_setting(read_scenario(tmp_path / "s.toml"))


def test_combinations_of_policies_are_counted(tmp_path: Path) -> None:
    """Lists of policies multiply: what they come to is counted before anything is made of them."""
    many = str(["fcfs"] * 40)
    (tmp_path / "s.toml").write_text(GOOD + f"[policy]\norder = {many}\nselect = {['easy'] * 40!s}\n")
    with pytest.raises(
        InputError, match=r"\[policy\] order: 1,600 combinations of policies are listed, more than 1,000"
    ):
        variants(read_scenario(tmp_path / "s.toml"))


def test_logs_that_outgrow_the_memory_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody could count before is measured while the run goes on: it ends with a line instead of the machine's
    memory.
    """
    wired = study(tmp_path, GOOD.replace("jobs = 20", "jobs = 2000") + "[run]\ntick = 1\n")
    monkeypatch.setattr(bound, "machine_bytes", lambda: 1e6)
    with pytest.raises(
        RunError, match=r"the logs of this run take .* MB, half of this machine's memory, after .*: end it earlier"
    ) as caught:
        wired.simulate()
    assert "\n" not in str(caught.value)


def test_a_machine_that_no_memory_could_hold(tmp_path: Path) -> None:
    """The state of a run is measured before it is laid out."""
    wired = study(tmp_path, GOOD.replace("nodes = 8", "nodes = 1000000000"))
    with pytest.raises(InputError, match=r"a run of 20 jobs on 1,000,000,000 nodes would take about .* GB of memory"):
        wired.simulate()


def test_what_the_system_refuses_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody knows how much memory there is, the refusal comes from the system and says the same."""
    monkeypatch.setattr(memory, "machine_bytes", lambda: float("inf"))
    with pytest.raises(InputError, match=r"a world would take about .* TB of memory"):
        memory.map_bytes(1 << 62, "a world")


def test_generators_count_before_they_draw() -> None:
    """Days of a cluster and long signals are refused from Python as from a file."""
    with pytest.raises(InputError, match=r"drawing .* jobs would take about .* of memory"):
        generate(MeggieLike(days=1e6))
    with pytest.raises(InputError, match=r"^drawing 2.82e\+302 jobs would take about 1.41e\+293 TB of memory"):
        generate(MeggieLike(days=1e300))
    with pytest.raises(InputError, match="a signal of 500,000,000,000 values would take about 50 TB"):
        generate_signal(GaussianSignal(1e12))
