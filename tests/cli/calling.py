"""What tests of the command line share: a small scenario, a small trace, and ways to call."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

SCENARIO = """\
name = "small"
seed = 4

[trace]
generator = "poisson"
jobs = 60
load = 0.8
type = [{name = "a", nodes = 2, mean = "10 min"}]

[cluster]
nodes = 16
idle = "100 W"
max = "300 W"
"""

SWF = """\
; MaxNodes: 8
1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
2 10 -1 50 8 -1 -1 8 60 -1 1 2 1 -1 -1 -1 -1 -1
3 20 -1 -1 2 -1 -1 2 60 -1 5 2 1 -1 -1 -1 -1 -1
4 30 -1 20 2 -1 -1 2 30 -1 1 3 1 -1 -1 -1 -1 -1
"""


@dataclass
class Answer:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


Call = Callable[..., Answer]


def program(*arguments: str, largest_file: int = resource.RLIM_INFINITY, **named: object) -> subprocess.Popen[str]:
    """Start a command as a program of its own, which hears Ctrl-C also where these tests run in the background."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if largest_file != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "wattline", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=prepare,  # noqa: PLW1509  (it does nothing but set a signal and a limit)
        **named,
    )
