"""``scripts/soak policies --count N``: random policies of users, each in a process of its own, until one crashes or
damages a run.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import os
import pickle
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from user_policies.grammar import SLOTS, Policy, generate
from user_policies.trial import ENDLESS, RIGHT, try_policy
from wattline.control.users import compile as compiling
from wattline.control.users.guard import LIMIT_KEY
from wattline.kernel.compiled import JIT

LIMIT_S, HUNG_S, SAY_EVERY_S = 1.0, 120.0, 30.0
"""How long a call of a policy may take, and how long a process may that tries one; how often the count is said."""

TOGETHER = 20
"""Policies that one process tries, unless one of them ends it."""


def load_everything(folder: Path) -> None:
    """Load the engine, and compile the helpers for every slot, so that the processes that are forked have them."""
    import wattline.control.chores
    import wattline.control.daily
    import wattline.sim.engine  # noqa: F401

    known = (
        "headroom_w(s) + start_increase_w(s, 0) + estimated_wall_s(s, 0) + router_traffic(s, 0) + uniform(1.0, 2, 3)"
    )
    for slot in SLOTS:
        for compiled in (True, False):
            body = f"    x = {known}\n    return 0\n"
            if slot == "select":
                body = f"    x = {known}\n    n = propose(s, 0, 0)\n    return 0\n"
            text = generate(0, compiled=compiled).text.split("@policy")[0]
            text += f"@policy({slot!r}, compiled={compiled})\ndef mine(s, arg, param, memory):\n{body}"
            with contextlib.suppress(Exception):
                try_policy(Policy(1, slot, compiled, text), folder / f"warm_{slot}_{compiled}.py", 2)


def alone(policies: Sequence[Policy], folder: Path) -> tuple[int, int]:
    """Try policies one after the other in a process of its own; return it, and where it tells what became of each."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ[LIMIT_KEY] = str(LIMIT_S)
        warnings.simplefilter("ignore")  # numpy's remarks on what policies compute
        compiling.plugin = functools.partial(_uncached, compiling.plugin)
        for policy in policies:
            try:
                told: list[str] | str = try_policy(policy, folder / _file_of(policy))
            except BaseException:
                told = traceback.format_exc(limit=-4)[-3000:]
            os.write(writing, pickle.dumps(told))
            if isinstance(told, str) or ENDLESS in told:
                break  # what it left behind is no beginning for another
    finally:
        os._exit(0)


def _file_of(policy: Policy) -> str:
    return f"policy_{policy.seed}_{policy.compiled}.py"


def _uncached(plugin: Any, function: Any, signature: Any, **options: Any) -> Any:
    return plugin(function, signature, **options | {"cache": False})


def outcomes(policies: Sequence[Policy], folder: Path) -> list[tuple[list[str], str]]:
    """Return, for the first of the policies or more, what became of its runs and what went wrong (nothing: an empty
    text).
    """
    child, reading = alone(policies, folder)
    got: list[tuple[list[str], str]] = []
    status = 0
    with os.fdopen(reading, "rb", buffering=0) as stream:
        while len(got) < len(policies):
            if not select.select([stream], [], [], HUNG_S)[0]:
                os.kill(child, signal.SIGKILL)
                got.append(([], f"it hung for {HUNG_S:g} s"))
                break
            data = stream.read(1 << 16)
            if not data:
                break
            frames = io.BytesIO(data)
            while frames.tell() < len(data):
                told = pickle.load(frames)  # noqa: S301
                got.append(([], told) if isinstance(told, str) else (told, ""))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and len(got) < len(policies):
        got.append(([], f"signal {os.WTERMSIG(status)}"))
    if not got:
        got.append(([], "it ended without a word"))
    for policy in policies:
        (folder / _file_of(policy)).unlink(missing_ok=True)
    return got


def as_test(policy: Policy, problem: str) -> str:
    """Return a failure as a test to paste."""
    said = "\n".join(f"    # {line}" for line in problem.strip().splitlines())
    return f"""
def test_policy_of_seed_{policy.seed}(tmp_path: Path) -> None:
    \"\"\"A policy that once crashed or damaged a run is right or refused.\"\"\"
{said}
    text = {policy.text!r}
    try_policy(Policy({policy.seed}, {policy.slot!r}, {policy.compiled}, text), tmp_path / "mine.py")
"""


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def soak(count: int, first: int, every: int, *, minutes: float = 0.0) -> tuple[Counter[str], list[str]]:
    """Try so many policies (one in ``every`` is compiled); return what became of their runs, and the failures as
    tests.
    """
    found: Counter[str] = Counter()
    failures: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if count > TOGETHER:  # it takes as long as some dozen compiled policies
            load_everything(folder)
        _say(f"loaded in {time.monotonic() - began:.0f} s")
        began = said = time.monotonic()
        seed = first
        while seed < first + count and not (minutes and time.monotonic() - began > 60.0 * minutes):
            upto = min(seed + TOGETHER, first + count)
            batch = [generate(s, compiled=JIT and every > 0 and s % every == 0) for s in range(seed, upto)]
            got = outcomes(batch, folder)
            seed += len(got)
            for policy, (told, problem) in zip(batch, got, strict=False):
                found["policies"] += 1
                found["compiled"] += policy.compiled
                found["compiled and right"] += policy.compiled and RIGHT in told
                found.update(told)
                if problem:
                    failures.append(as_test(policy, problem))
                    sys.stdout.write(failures[-1])
                    sys.stdout.flush()
            if time.monotonic() - said > SAY_EVERY_S:
                said = time.monotonic()
                _say(f"{said - began:.0f} s: {dict(found)}, {len(failures)} failures")
    return found, failures


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="scripts/soak policies", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="policies to try")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first one")
    parser.add_argument("--compiled", type=int, default=5, metavar="N", help="one policy in N is compiled (0: none)")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long (0: when all were tried)")
    given = parser.parse_args()
    found, failures = soak(given.count, given.seed, given.compiled, minutes=given.minutes)
    shown = ", ".join(f"{name} {found[name]:,}" for name in sorted(found))
    sys.stdout.write(f"{shown}; failures {len(failures)}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
