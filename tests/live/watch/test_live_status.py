"""The status of a controller: a document, a socket that only its owner may use, and a view of 80 columns."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import math
import socket
import stat
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from wattline import cli
from wattline.errors import InputError
from wattline.live.watch.document import Action, Document, Power, SignalStatus
from wattline.live.watch.socket import StatusServer, default_socket, fetch, socket_of
from wattline.live.watch.status import watch
from wattline.live.watch.view import BLOCKS, WIDTH, lines, sparkline

FULL = Document(
    site="north",
    time_s=1794828000.0,
    role="leader",
    term=7,
    policy="slackline",
    since_s=1794820000.0,
    speed=10.0,
    power=Power(98_200.0, 97_900.0, 100_000.0, 120_000.0, 20_000.0, 0.09, 0.034),
    signal=SignalStatus(0.31, "held", 12.5, {"jump": 2}),
    nodes={"led": 30, "safe": 1, "silent": 1},
    jobs={"running": 12, "waiting": 1400},
    faults={"sensor-stuck": 3, "clamped": 5},
    actions=(Action(1794827999.0, "start", "job 17", "first in its queue"), Action(1794828000.0, "cap", "32 nodes")),
    history=tuple((1794827900.0 + t, 9e4 + 100 * t, 1e5) for t in range(100)),
)


def test_a_document_survives_its_way() -> None:
    """To JSON and back; what is not known stays so."""
    assert Document.from_json(FULL.to_json()) == FULL
    bare = Document.from_json(Document("s", 1.0).to_json())
    assert math.isnan(bare.power.measured_w)
    assert bare.signal.age_s == math.inf
    assert Document.from_json(json.dumps(json.loads(FULL.to_json()) | {"new": 1})) == FULL


def test_the_page_names_every_key() -> None:
    """Those of the document, of power and of the signal stand in the table."""
    page = (Path(__file__).parents[3] / "docs" / "live" / "metrics.md").read_text(encoding="utf-8")
    table = page.partition("| key | meaning |")[2].partition("\n\n")[0]
    data = json.loads(FULL.to_json())
    named = {key for key in (*data, *data["power"], *data["signal"]) if f"`{key}`" in table}
    assert {*data, *data["power"], *data["signal"]} - named == {"v"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v": 2}, "of version 2, and this program knows 1"),
        ({"role": "king"}, "expected one of leader"),
        ({"time": "now"}, "expected a number"),
        ({"nodes": [1]}, "cannot be read"),
        ({"nodes": {"led": None}}, "cannot be read"),
        ({"history": [[1, 2]]}, "cannot be read"),
        ({"site": None}, "expected a text"),
    ],
)
def test_what_is_no_status_is_refused_in_a_line(change: dict[str, Any], told: str) -> None:
    """Of another version, of other types, or no JSON at all."""
    with pytest.raises(InputError, match=told) as caught:
        Document.from_json(json.dumps(json.loads(FULL.to_json()) | change))
    assert "\n" not in str(caught.value)
    for text in ("", "[]", "{}", "[" * 9999):
        with pytest.raises(InputError, match="not the status of a controller"):
            Document.from_json(text)


def test_a_dry_run_shows_the_error_that_it_would_have_had() -> None:
    """By the model, and said so, beside that of the machine as it is; whoever leads shows the one alone."""
    assert not any("by the model" in line for line, _ in lines(FULL))
    told = replace(FULL, role="dry-run", power=replace(FULL.power, would_error=0.021, would_mean_error=0.015))
    shown = [line.strip() for line, _ in lines(Document.from_json(told.to_json()))]
    assert any("error 9.0 % of the reserve, mean 3.4 %" in line for line in shown)
    assert "with these caps, by the model: error 2.1 % of the reserve, mean 1.5 %" in shown


def test_a_document_is_bounded() -> None:
    """However long a controller's history is, the newest are handed out."""
    long = Document("s", 1.0, history=[(float(t), 1.0, 1.0) for t in range(5000)], actions=[Action(1.0, "x", "y")] * 99)
    again = Document.from_json(long.to_json())
    assert (len(again.history), again.history[-1][0], len(again.actions)) == (240, 4999.0, 20)


def test_the_latest_document_is_handed_out_on_a_socket_of_its_owner(tmp_path: Path) -> None:
    """Mode 600; nothing before the first document; the name is gone afterwards."""
    path = tmp_path / "s.sock"
    server = StatusServer(path)
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(InputError, match="has just begun"):
            fetch(path)
        server.publish(Document("north", 1.0))
        server.publish(FULL)
        assert fetch(path) == FULL
        with pytest.raises(InputError, match="another program answers there"):
            StatusServer(path)
    finally:
        server.close()
    assert not path.exists()
    with pytest.raises(InputError, match="is it running"):
        fetch(path)


def test_the_socket_of_a_dead_controller_is_taken_over(tmp_path: Path) -> None:
    """A name that nobody answers to is free; a file is left alone; a name that is too long is said."""
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(InputError, match="no controller listens there any more"):
        fetch(path)
    StatusServer(path).close()
    path.write_text("mine")
    with pytest.raises(InputError, match="something else has this name"):
        StatusServer(path)
    assert path.read_text() == "mine"
    for call in (StatusServer, fetch):
        with pytest.raises(InputError, match="at most 100 bytes"):
            call(tmp_path / ("x" * 120))
    with pytest.raises(InputError, match="cannot listen there"):
        StatusServer(tmp_path / "no" / "s")


def test_who_holds_the_lease_takes_the_socket_of_a_controller_that_hangs(tmp_path: Path) -> None:
    """The one that lost it does not remove what is another's by then."""
    path = tmp_path / "s"
    hangs = StatusServer(path)
    leads = StatusServer(path, replace=True)
    hangs.close()
    with pytest.raises(InputError, match="just begun"):
        fetch(path)
    leads.close()
    assert not path.exists()


def test_a_socket_that_never_answers_is_given_up(tmp_path: Path) -> None:
    """After the time-out, in a line; so is one that speaks nonsense."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(path))
        mute.listen()
        with pytest.raises(InputError, match="does not answer"):
            fetch(path, timeout_s=0.05)

        def babble() -> None:
            for _ in range(2):  # the caller above has gone, and is still in the queue
                one, _ = mute.accept()
                with one, contextlib.suppress(OSError):
                    one.sendall(b"what?\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        with pytest.raises(InputError, match="does not answer"):
            fetch(path)
        thread.join()


def test_a_site_file_tells_its_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[status] socket, beside the file; or the usual place for the site's name."""
    site = tmp_path / "site.toml"
    site.write_text('site = "north"\n[status]\nsocket = "run/s.sock"\n')
    assert socket_of(site) == tmp_path / "run/s.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/somewhere")
    site.write_text('site = "north"\n')
    assert socket_of(site) == default_socket("north") == Path("/somewhere/wattline-north.sock")
    for text, told in (("x = ", "is not TOML"), ("", "expected the site's name"), ("[status]\nsocket = 3", "got 3")):
        site.write_text(text)
        with pytest.raises(InputError, match=told):
            socket_of(site)


def test_the_view_fits_80_columns_and_says_what_matters() -> None:
    """Power, target, error, signal, nodes, jobs, faults, actions; nothing that a terminal would obey."""
    text = "\n".join(line for line, _ in lines(FULL))
    for words in (
        "north  leader, term 7  slackline",
        "(10x)",
        "98.2 kW measured, 97.9 kW modelled",
        "120 kW",
        "error 9.0 % of the reserve, mean 3.4 %",
        "+0.310  held, last good sample 12.5 s old",
        "refused: 2 jump",
        "30 led, 1 safe, 1 silent",
        "12 running",
        "1,400 waiting",
        "5 clamped, 3 sensor-stuck",
        "start job 17: first in its queue",
    ):
        assert words in text
    hostile = Document(
        "s" * 200,
        math.nan,
        policy="p" * 200,
        faults={"\x1b[2J" * 40: 1},
        actions=[Action(1e300, "a\n", "b" * 99, "\r")],
    )
    for document in (FULL, hostile, Document("s", 0.0)):
        for line, _ in lines(document, silent_s=99.0):
            assert len(line) <= WIDTH
            assert line.isprintable()
    over = Document("s", 1.0, power=Power(measured_w=2.0, limit_w=1.0))
    assert any("EXCEEDED" in line and style == "red" for line, style in lines(over))
    assert any("no news" in line for line, _ in lines(FULL, silent_s=7.0))
    assert not any("no news" in line for line, _ in lines(FULL, silent_s=1.0))


def test_a_small_curve_has_means_and_gaps() -> None:
    """Lowest to highest; a blank where nothing is known; flat in the middle."""
    assert sparkline([0.0, 1.0], 0.0, 1.0, 10) == BLOCKS[0] + BLOCKS[-1]
    assert sparkline([0.0, 0.0, 1.0, 1.0, math.nan, math.nan], 0.0, 1.0, 3) == f"{BLOCKS[0]}{BLOCKS[-1]} "
    assert sparkline([5.0], 5.0, 5.0, 3) == BLOCKS[4]


def test_status_is_shown_once_as_text_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal it ends by itself; nobody there is one line and code 2."""
    path = tmp_path / "s.sock"
    (tmp_path / "site.toml").write_text('[status]\nsocket = "s.sock"\n')
    server = StatusServer(path)
    try:
        server.publish(FULL)
        assert cli.call(["status", str(tmp_path / "site.toml")]) == 0
        shown = capsys.readouterr().out
        assert "98.2 kW measured" in shown
        assert "\x1b" not in shown
        assert cli.call(["status", "--socket", str(path), "--json"]) == 0
        assert Document.from_json(capsys.readouterr().out) == FULL
        assert cli.call(["status", "--socket", str(path), "--quiet"]) == 0
        assert capsys.readouterr().out == ""
    finally:
        server.close()
    for arguments in (["--socket", str(path)], [], [str(tmp_path / "none.toml")]):
        assert cli.call(["status", *arguments]) == 2
        told = capsys.readouterr().err
        assert told.startswith("wattline: ")
        assert told.count("\n") == 1


def test_the_live_view_goes_on_when_the_controller_goes_silent(tmp_path: Path) -> None:
    """It shows the last that is known and says so; Ctrl-C ends it."""
    path = tmp_path / "s.sock"
    server = StatusServer(path)
    server.publish(FULL)
    clock = [0.0]

    def rest(seconds: float) -> None:
        clock[0] += 4.0
        if clock[0] == 8.0:
            server.close()
        if clock[0] >= 16.0:
            raise KeyboardInterrupt

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=WIDTH)
    watch(path, rest=rest, monotonic=lambda: clock[0], console=console)
    assert "98.2 kW measured" in out.getvalue()
    assert "no news from the controller for 8 s" in out.getvalue()
    assert "no controller listens there (no such socket)" in out.getvalue()


def test_the_dashboard_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON that Grafana takes."""
    assert cli.call(["dashboard"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Wattline"


def test_status_loads_nothing_heavy(tmp_path: Path) -> None:
    """Neither numba nor numpy nor polars is loaded to look at a controller."""
    import subprocess

    code = (
        "import sys; from wattline.cli import call; call(['status', '--socket', sys.argv[1]])\n"
        "sys.exit(str({'numba', 'numpy', 'polars', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "set()"


def test_a_caller_who_is_let_in_while_the_server_closes_leaves_no_open_socket(tmp_path: Path) -> None:
    """Whatever the order of the two is: nothing is left for the garbage collector to complain about."""
    for i in range(100):
        server = StatusServer(tmp_path / f"{i}")
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(tmp_path / f"{i}"))
            server.close()
    gc.collect()  # a socket that was not closed is an error of this test
