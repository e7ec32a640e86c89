"""Studies that are killed at any moment go on with --resume, repeat only what was not done, and find the same."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path

from calling import Call, program, with_short_searches
from test_cli_bid import MARKET

from programs import Body
from wattline.journal.kept import KEPT

PATIENCE_S = 240.0


def lines(path: Path) -> int:
    """Return how many whole lines a file has."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_after(
    words: tuple[str, ...], cwd: Path, kept: Path, more: int, number: int = signal.SIGKILL, body: Body | None = None
) -> str:
    """Begin a command, send it a signal once so many more results are kept; return what it said."""
    begun = program(*words, cwd=cwd, body=body)
    wanted, end = max(lines(kept), 1) + more, time.monotonic() + PATIENCE_S
    while lines(kept) < wanted and begun.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)
    time.sleep(random.Random(more).random() * 0.05)
    begun.send_signal(number)
    _, err = begun.communicate()
    assert begun.returncode in (-number, 128 + number), err
    return err


def finish(words: tuple[str, ...], cwd: Path, *codes: int, body: Body | None = None) -> None:
    """Run a command to its end."""
    done = program(*words, cwd=cwd, body=body)
    _, err = done.communicate(PATIENCE_S)
    assert done.returncode in codes, err


def test_a_bid_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Killed twice and stopped once at other moments, the search goes on and leaves the bytes of an undisturbed one."""
    (tmp_path / "sold.toml").write_text(MARKET)
    short = with_short_searches
    words = ("bid", "sold.toml", "--method", "aqa", "--set", "policy.select=gps", "--hours", "8")
    finish((*words, "--out", "whole", "--quiet"), tmp_path, 0, 3, body=short)
    cut, kept = (*words, "--out", "cut"), tmp_path / "cut" / KEPT
    kill_after(cut, tmp_path, kept, 40, body=short)
    there = lines(kept)
    kill_after((*cut, "--resume"), tmp_path, kept, 60, body=short)
    assert lines(kept) > there > 40
    said = kill_after((*cut, "--resume"), tmp_path, kept, 25, signal.SIGINT, short)
    assert said.splitlines()[-1] == (
        "wattline: interrupted; what was simulated is in cut, and --resume goes on with the rest"
    )
    assert f"cut: going on; {lines(kept) - 1:,} results" not in said
    finish((*cut, "--resume", "--quiet"), tmp_path, 0, 3, body=short)
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["bid.html", "certificate.json"]
    for name in ("bid.html", "certificate.json"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_what_a_bid_rests_on_may_not_change(wattline: Call, folder: Path) -> None:
    """A scenario that was changed since, a folder of another one, a bid that is over: each is said in a line."""
    (folder / "sold.toml").write_text(MARKET)
    words = ("bid", "sold.toml", "--method", "given")
    assert "give the --out" in wattline(*words, "--resume").err
    assert wattline(*words, "--out", "o").code == 3
    assert not (folder / "o" / KEPT).exists()
    over = wattline(*words, "--out", "o", "--resume")
    assert (over.code, "this study is over, nothing is left to resume" in over.err) == (2, True)
    kill_after((*words, "--hours", "4000", "--out", "p"), folder, folder / "p" / KEPT, 3)
    other = wattline(*words, "--set", "cluster.nodes=40", "--out", "p", "--resume")
    assert (other.code, "holds another study, not this one (scenario differ)" in other.err) == (2, True)
    named = wattline(*words, "--set", "name=another", "--out", "p")
    assert (named.code, "holds a certificate, cut off, of 'sold', not of 'another'" in named.err) == (2, True)
    text = (folder / "p" / KEPT).read_text()
    (folder / "p" / KEPT).write_text(text.replace('"wattline": "', '"wattline": "0.'))
    version = wattline(*words, "--out", "p", "--resume")
    assert (version.code, "another version of Wattline" in version.err) == (2, True)


def test_a_reproduction_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Killed in the middle, a reproduction goes on with its pieces, and leaves what an undisturbed one leaves."""
    words = ("reproduce", "rmap", "--quick", "--quiet")
    finish((*words, "--out", "whole"), tmp_path, 0)
    cut, kept = (*words, "--out", "cut"), tmp_path / "cut" / KEPT
    kill_after(cut, tmp_path, kept, 1)
    first = kept.read_bytes()
    kill_after((*cut, "--resume"), tmp_path, kept, 1)
    assert kept.read_bytes().startswith(first[: first.rindex(b"\n") + 1])
    finish((*cut, "--resume"), tmp_path, 0)
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["reproduction.json", "rmap.html"]
    assert (tmp_path / "cut" / "rmap.html").read_bytes() == (tmp_path / "whole" / "rmap.html").read_bytes()
    told = [json.loads((tmp_path / name / "reproduction.json").read_text()) for name in ("cut", "whole")]
    assert [one.pop("created") for one in told]
    assert told[0] == told[1]
    again = program(*cut, "--resume", cwd=tmp_path)
    _, err = again.communicate()
    assert (again.returncode, "this reproduction is over, nothing is left to resume" in err) == (2, True)


def test_a_reproduction_of_seconds_does_not_go_on(wattline: Call, folder: Path) -> None:
    """One that keeps no pieces refuses --resume in a line, and leaves no file of pieces."""
    refused = wattline("reproduce", "overprovisioning", "--resume", "--out", "o")
    assert refused.code == 2
    assert refused.err.splitlines() == [
        "wattline: overprovisioning: it takes seconds and keeps no pieces to go on with; give it without --resume"
    ]
    assert not (folder / "o").exists()
