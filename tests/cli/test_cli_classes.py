"""A command takes the code of dataclasses from the last one, and trusts only what it wrote itself."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wattline.cli import classes


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the file for the code in an empty folder; afterwards dataclasses are made in Python's own way."""
    folder = tmp_path / "cache" / classes.fingerprint()
    folder.mkdir(parents=True, mode=0o755)
    monkeypatch.setenv("WATTLINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield classes._place()
    vars(dataclasses).pop("exec", None)
    classes._kept.clear()
    classes._used.clear()


def made() -> type:
    """Return a dataclass that is made now."""

    @dataclasses.dataclass(frozen=True)
    class Made:
        """Two numbers."""

        one: int
        two: float = 2.0

    return Made


def compiled_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets every text which is compiled from now on."""
    texts: list[str] = []

    def note(source: str, *rest: object, **more: object) -> object:
        texts.append(source)
        return compile(source, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(classes, "compile", note, raising=False)
    return texts


def test_the_second_command_compiles_no_class(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one command compiled the next one loads; the classes are the same in all that they do."""
    plain = made()
    texts = compiled_by(monkeypatch)
    classes.begin()
    first = made()
    classes.keep()
    assert len(texts) >= 4
    assert place.exists()
    texts.clear()
    classes.begin()
    second = made()
    assert texts == []
    for one in (first, second):
        assert repr(one(1)) == repr(plain(1))
        assert one(1) == one(1, 2.0) != one(2)
        assert hash(one(1)) == hash(plain(1))
        assert one.__init__.__annotations__ == plain.__init__.__annotations__
        with pytest.raises(dataclasses.FrozenInstanceError):
            one(1).one = 3


def test_damaged_code_is_made_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a flipped byte is not looked into, and replaced."""
    classes.begin()
    made()
    classes.keep()
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)
    texts = compiled_by(monkeypatch)
    classes.begin()
    made()
    assert texts
    classes.keep()
    body = place.read_bytes()
    assert hashlib.sha256(body[32:]).digest() == body[:32]


def test_code_that_others_may_have_written_is_not_run(place: Path) -> None:
    """A file or folder that others may write to counts as empty, and nothing is written there."""
    classes.begin()
    made()
    classes.keep()
    for loose in (place, place.parent):
        loose.chmod(loose.stat().st_mode | 0o022)
        classes.begin()
        assert not classes._kept
        loose.chmod(loose.stat().st_mode & ~0o022)
    classes.begin()
    assert classes._kept
    place.unlink()
    place.parent.chmod(0o777)
    made()
    classes._kept.clear()
    classes.keep()
    assert not place.exists()


def test_no_more_is_kept_than_a_command_needs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where texts pile up, those that the last command did not use go."""
    classes.begin()
    made()
    classes.keep()
    monkeypatch.setattr(classes, "MOST", len(classes._used))
    classes.begin()
    dataclasses.make_dataclass("Other", ["three", "four", "five"])
    classes.keep()
    assert len(classes._read(place)) == len(classes._used)


def test_nothing_is_kept_where_nothing_was_compiled(place: Path) -> None:
    """Without a folder of compiled code none is made: a first command looks for it."""
    place.parent.rmdir()
    classes.begin()
    made()
    classes.keep()
    assert not place.parent.exists()
