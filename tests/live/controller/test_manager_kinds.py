"""Kinds of resource managers are found by their folders, and every key of ``[manager]`` belongs to one or to all."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.live.clock import Clock
from wattline.live.controller.managers import open_manager, where
from wattline.live.machine.settings import MANAGERS, SHARED, ManagerSpec, find_manager, problems

FOLDERS = Path(__file__).parents[3] / "src/wattline/live/machine"


def test_every_folder_is_a_kind() -> None:
    """A folder of ``live/machine`` is a kind of its name, and no list of them has to be kept."""
    assert set(MANAGERS) == {path.parent.name for path in FOLDERS.glob("*/__init__.py")}
    assert [find_manager(name).name for name in MANAGERS] == list(MANAGERS)


def test_every_key_has_one_owner() -> None:
    """Each key of the section is shared by all kinds or named by exactly one of them, which may need it."""
    owned = [key for name in MANAGERS for key in find_manager(name).keys]
    assert sorted([*owned, *SHARED]) == sorted(ManagerSpec.model_fields)
    assert all(set(find_manager(name).needs) <= find_manager(name).keys for name in MANAGERS)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "launcher"}, [("run_dir", "is missing, the run directory of the launcher")]),
        (
            {"kind": "launcher", "run_dir": "r", "stop": "all", "conf": "c"},
            [
                ("conf", 'is a key of kind = "slurm", this is a launcher'),
                ("stop", 'is a key of kind = "slurm", this is a launcher'),
            ],
        ),
        ({"kind": "slurm", "run_dir": "r"}, [("run_dir", 'is a key of kind = "launcher", this is Slurm')]),
        (
            {"kind": "slurm", "rest": "http://127.0.0.1:6820"},
            [("token", "is missing, Slurm's REST interface needs an address and a token")],
        ),
        (
            {"kind": "slurm", "rest": "ftp://a", "token": "t"},
            [("rest", "expected an address like http://127.0.0.1:6820, got 'ftp://a'")],
        ),
        ({"kind": "launcher", "run_dir": "r", "timeout": "2 s"}, []),
        ({"kind": "slurm", "timeout": "2 s", "partitions": ["a"]}, []),
    ],
)
def test_keys_of_another_kind_are_refused(given: dict[str, object], told: list[tuple[str, str]]) -> None:
    """A key that is missing, that another kind has, or that contradicts another is named with what is wrong."""
    assert list(problems(ManagerSpec.model_validate(given))) == told


def test_a_kind_opens_its_manager(tmp_path: Path) -> None:
    """The file's kind says what is opened, and in a line which one it is."""
    made = {}
    for given in ({"kind": "launcher", "run_dir": "r"}, {"kind": "slurm", "conf": "slurm.conf"}):
        spec = ManagerSpec.model_validate(given)
        made[spec.kind] = type(open_manager(spec, tmp_path, Clock(), act=False)).__name__
        assert where(spec, tmp_path).startswith(f"{spec.kind} ")
    assert made == {"launcher": "LauncherClient", "slurm": "SlurmManager"}
