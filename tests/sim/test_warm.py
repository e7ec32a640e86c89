"""Compiling for the first time: in processes of its own, which Ctrl-C ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from wattline.sim import warm


def test_ctrl_c_ends_those_who_compile(tmp_path: Path) -> None:
    """An impatient user waits for no compiler, and none goes on behind their back."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where tests run in the background
    late = tmp_path / "late"
    press = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            warm._in_processes(
                "import time; time.sleep(60)",
                f"import time, pathlib; time.sleep(3); pathlib.Path({str(late)!r}).touch()",
            )
    finally:
        press.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 30
    time.sleep(3.0)
    assert not late.exists()


def test_what_goes_wrong_elsewhere_is_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A helper that fails says nothing: what it should have made is made, and failures said, by whoever needs it."""
    warm._in_processes("raise SystemExit('no')", f"open({str(tmp_path / 'made')!r}, 'w').close()")
    assert (tmp_path / "made").exists()
    assert capfd.readouterr().err == ""
