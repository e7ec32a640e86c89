"""What tests of the command line share: a small scenario, a small trace, and ways to call."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from programs import Body, Running, wattline

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


def program(
    *arguments: str, cwd: Path, largest_file: int = resource.RLIM_INFINITY, body: Body | None = None
) -> Running:
    """Start a command as a program of its own."""
    return Running(arguments, cwd, largest_file=largest_file, body=body)


def with_short_searches(words: list[str]) -> None:
    """Do what the command does, with a fifth of the steps of AQA's search: seven hundred hours are simulated, not
    thousands.
    """
    from wattline.bidding import choose

    vars(choose)["aqa_bid"] = partial(choose.aqa_bid, iterations=40)
    wattline(words)


def pressing(words: list[str], times: int = 1) -> None:
    """Do what the command does; Ctrl-C is pressed so often when the first of its runs is over and its accounts are
    made.
    """
    from wattline.scenario import Study

    tables, left = Study.tables, [times]

    def press(self: Study, *given: Any, **named: Any) -> Any:
        for _ in range(left.pop() if left else 0):
            os.kill(os.getpid(), signal.SIGINT)
        return tables(self, *given, **named)

    Study.tables = press  # type: ignore[method-assign]
    wattline(words)
