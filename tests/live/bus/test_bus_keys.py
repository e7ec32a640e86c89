"""Keys are kept where nobody else can read them, and are refused where somebody can."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from wattline.cli import call
from wattline.errors import InputError
from wattline.live.bus.keys import load_known, load_pair, make_keys
from wattline.live.bus.mosquitto import acl_for


def mode(path: Path) -> int:
    """Return the mode of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_the_command_makes_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``wattline keys`` makes key pairs of mode 600 in folders of mode 700, adds to them, and overwrites none."""
    monkeypatch.chdir(tmp_path)
    words = ["keys", "k", "--site", "demo"]
    assert call([*words, "--controller", "controller", "--nodes", "n[001-003]"]) == 0
    folder = tmp_path / "k"
    assert (mode(folder), mode(folder / "secret")) == (0o700, 0o700)
    secrets = sorted((folder / "secret").iterdir())
    assert [path.name for path in secrets] == ["controller.key", "n001.key", "n002.key", "n003.key"]
    assert {mode(path) for path in secrets} == {0o600}
    first = load_known(folder / "public.keys")
    assert (first.site, first.names("controller"), len(first.keys)) == ("demo", ["controller"], 4)
    capsys.readouterr()
    for wrong in (["--node", "n003", "--node", "n004"], [], ["--node", "../x"], ["--nodes", "n[5-1]"]):
        assert call([*words, *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert call(["keys", "k", "--site", "other", "--node", "n009"]) == 2
    assert load_known(folder / "public.keys") == first
    assert call([*words, "--node", "n003", "--node", "n004", "--force"]) == 0
    second = load_known(folder / "public.keys")
    assert {name for name in first.keys if first.keys[name] != second.keys[name]} == {"n003"}
    assert load_pair(folder / "secret" / "n003.key", "n003").public == second.keys["n003"]


def test_the_command_makes_files_for_a_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --mqtt it makes passwords, their hashes and the access list, and adds to them."""
    monkeypatch.chdir(tmp_path)
    words = ["keys", "k", "--site", "demo", "--mqtt", "--quiet"]
    assert call([*words, "--controller", "controller", "--node", "n001"]) == 0
    assert call([*words, "--node", "n001"]) == 2
    assert call([*words, "--node", "n002"]) == 0
    folder = tmp_path / "k"
    acl = (folder / "mosquitto.acl").read_text().partition("\n\n")[2]
    assert sorted(acl.split("\n\n")) == sorted(acl_for("demo", ["n001", "n002"]).split("\n\n"))
    assert [line.split(":")[0] for line in (folder / "mosquitto.passwords").read_text().split()] == [
        "controller",
        "n001",
        "n002",
    ]
    passwords = [path.read_text() for path in (folder / "secret").iterdir()]
    assert len(set(passwords)) == 3
    assert {mode(path) for path in (folder / "secret").iterdir()} == {0o600}
    assert not any(text.split(":")[1].strip() in (folder / "mosquitto.passwords").read_text() for text in passwords)


def test_files_that_others_can_read_are_refused(tmp_path: Path) -> None:
    """A secret that others can read, public keys that others can write, and what is no key: one line each."""
    make_keys(tmp_path, "demo", [("controller", "controller"), ("agent", "n001")])
    secret, public = tmp_path / "secret" / "n001.key", tmp_path / "public.keys"
    assert load_pair(secret).name == "n001"
    for bits in (0o640, 0o604, 0o601, 0o620):
        secret.chmod(bits)
        with pytest.raises(InputError, match=f"mode {bits:o}.*chmod 600"):
            load_pair(secret)
    secret.chmod(0o600)
    with pytest.raises(InputError, match="is the key of n001, not of n002"):
        load_pair(secret, "n002")
    public.chmod(0o646)
    with pytest.raises(InputError, match="others can write it"):
        load_known(public)
    public.chmod(0o644)
    text = public.read_text()
    for wrong in (
        "",
        "x",
        text + "agent n002 short\n",
        text + text.split("\n")[1] + "\n",
        text + "king n003 " + "a" * 40,
    ):
        public.write_text(wrong)
        with pytest.raises(InputError) as told:
            load_known(public)
        assert "\n" not in str(told.value)
    words = secret.read_text().split()
    for wrong in ("", f"{words[0]} {words[2]} {words[1]}", f"{words[0]} {words[1]} {'~' * 40}", "\xff"):
        secret.write_text(wrong)
        with pytest.raises(InputError) as told:
            load_pair(secret)
        assert "\n" not in str(told.value)
    with pytest.raises(InputError, match="cannot be read"):
        load_pair(tmp_path / "nothing.key")


def test_a_secret_is_not_shown() -> None:
    """Keys in a log line show no secret."""
    from wattline.live.bus.keys import Pair

    assert "hush" not in repr(Pair("n001", b"public", b"hush"))


def test_the_bus_is_light() -> None:
    """Whoever opens a bus loads neither numba nor numpy nor polars, and wires that are not used are not loaded."""
    code = (
        "import sys; import wattline.live.bus.open, wattline.live.bus.messages, wattline.live.bus.inbox\n"
        "early = {'zmq', 'paho'} & set(sys.modules)\n"
        "import wattline.live.bus.zeromq, wattline.live.bus.mqtt, wattline.live.bus.mosquitto, zmq, paho.mqtt.client\n"
        "heavy = {'numba', 'numpy', 'polars', 'scipy'} & set(sys.modules) | early\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
