"""Results of a study that are kept as they come: to the last bit, by what was asked, and none that is not whole."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.journal import kept as room
from wattline.journal.kept import KEPT, Kept, open_kept
from wattline.journal.plain import from_plain, to_plain
from wattline.model.regulation import Bid
from wattline.systems.contest.equal import Equal

ABOUT = {"name": "a study", "seeds": 3}
VALUES: list[Any] = [
    None,
    True,
    -(2**60),
    "tät",
    0.1 + 0.2,
    5e-324,
    -0.0,
    [1, (2.0, "x"), {3: [4], "k": None, (1, 2): 0.5}],
    range(2, 9, 3),
    Bid(1.25, 1 / 3),
    Equal(1.0, 2.0, "as found"),
    {"a": [Bid(1.0, 2.0)]},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_is_kept_is_the_same(value: Any) -> None:
    """Values come back equal and of the same type, through JSON."""
    again = from_plain(json.loads(json.dumps(to_plain(value), allow_nan=False)))
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_numbers_that_json_has_not_and_arrays_are_the_same() -> None:
    """NaN, endless numbers, arrays of any shape and single numbers of numpy come back to the last bit."""
    assert math.isnan(from_plain(to_plain(math.nan)))
    assert from_plain(to_plain(-math.inf)) == -math.inf
    for array in (np.arange(6.0).reshape(2, 3) / 7, np.array([], dtype=np.int64), np.array([True]), np.arange(6)[::2]):
        again = from_plain(json.loads(json.dumps(to_plain(array))))
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)
        again[...] = 0  # it can be written, as what was made can
    one = from_plain(to_plain(np.float64(1 / 3)))
    assert (type(one), one) == (np.float64, np.float64(1 / 3))


@pytest.mark.parametrize("data", [{"c": "os:system", "v": []}, {"c": "wattline.files:read_regular", "v": []}, {"x": 1}])
def test_nothing_is_run_when_results_are_read(data: Any) -> None:
    """A name that is no record of this package is refused, whatever it is."""
    with pytest.raises(ValueError, match=r"no record|not of this package|no result"):
        from_plain(data)


def test_what_is_no_plain_data_is_refused() -> None:
    """An object that could not come back the same is not kept."""
    with pytest.raises(TypeError, match="no plain data"):
        to_plain(object())
    with pytest.raises(TypeError, match="no plain data"):
        to_plain(np.array([object()]))


def test_cut_at_any_byte(tmp_path: Path) -> None:
    """Wherever the file was cut, or a byte of it changed, what is whole is there and the rest is made again."""
    path = tmp_path / KEPT
    kept = Kept(path, ABOUT, resume=False)
    for number in range(3):
        assert kept.take(str(number), lambda number=number: {"n": number}) == {"n": number}
    kept.close()
    whole = path.read_bytes()
    begins = whole.index(b"\n") + 1
    for at in range(begins, len(whole)):
        path.write_bytes(whole[:at])
        again = Kept(path, ABOUT, resume=True)
        assert len(again) == whole[begins:at].count(b"\n")
        assert [again.take(str(n), lambda n=n: {"n": n}) for n in range(3)] == [{"n": 0}, {"n": 1}, {"n": 2}]
        again.close()
        assert path.read_bytes() == whole
    for at in range(begins, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        again = Kept(path, ABOUT, resume=True)
        assert len(again) < 3
        again.close()


def test_another_study_or_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are taken only by the same study, of the same version and sources; without ``resume`` it begins anew."""
    kept = open_kept(tmp_path, ABOUT, resume=False, result="r")
    kept.put("a", 1)
    kept.close()
    with pytest.raises(InputError, match=r"another study, not this one \(seeds differ\)"):
        open_kept(tmp_path, ABOUT | {"seeds": 4}, resume=True, result="r")
    monkeypatch.setattr(room, "sources", lambda: "other")
    with pytest.raises(InputError, match="another version of Wattline"):
        open_kept(tmp_path, ABOUT, resume=True, result="r")
    anew = open_kept(tmp_path, ABOUT, resume=False, result="r")
    assert len(anew) == 0
    anew.close()
    (tmp_path / KEPT).write_bytes(b"no study\n")
    with pytest.raises(InputError, match="cannot be read"):
        open_kept(tmp_path, ABOUT, resume=True, result="r")


def test_a_study_that_is_over_says_so(tmp_path: Path) -> None:
    """Where the result is there and nothing is kept, nothing is left to resume; one that did nothing leaves no file."""
    kept = open_kept(tmp_path, ABOUT, resume=True, result="r")
    kept.leave()
    assert not (tmp_path / KEPT).exists()
    (tmp_path / "r").touch()
    with pytest.raises(InputError, match="is over"):
        open_kept(tmp_path, ABOUT, resume=True, result="r")
