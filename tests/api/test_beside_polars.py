"""Wattline in a program that has loaded Polars before it."""

from __future__ import annotations

import subprocess
import sys

TWO_THREADS = """
import threading
import polars as pl
from polars import _dependencies
import wattline as wl
wl.draw_trace("lublin", nodes=4, jobs=1)
import numpy as np

load, both = _dependencies.import_module, threading.Barrier(2)

def load_at_once(name):
    found = load(name)
    both.wait(20)
    return found

_dependencies.import_module = load_at_once
threads = [threading.Thread(target=pl.Series, args=("a", np.arange(3))) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_two_threads_may_have_the_first_arrays_of_polars() -> None:
    """Polars takes numpy at its first array, in a way that fails where two threads come to that at once."""
    done = subprocess.run([sys.executable, "-c", TWO_THREADS], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
