"""Random policies of users, right and wrong: a fast form of ``scripts/soak policies``."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from user_policies.grammar import generate
from user_policies.trial import ENDLESS, try_policy

ENDLESS_WORDS = ("while ",)


def is_quick(text: str) -> bool:
    """Tell whether a policy can be tried in this very process: one that never ends would stay in it."""
    return not any(word in text for word in ENDLESS_WORDS)


def test_plain_policies(tmp_path: Path) -> None:
    """Two hundred policies in plain Python, each in three worlds: every run is right or refused in one line."""
    found: Counter[str] = Counter()
    for seed in range(20_000_000, 20_000_200):
        policy = generate(seed, compiled=False)
        if is_quick(policy.text):
            found.update(try_policy(policy, tmp_path / f"p{seed}.py"))
    assert found["right"] > 100
    assert found["refused"] > 100
    assert found[ENDLESS] == 0


def test_policies_in_processes_of_their_own() -> None:
    """The soak itself works: some policies, compiled ones and endless ones among them, without a failure."""
    words = [sys.executable, "-m", "user_policies", "--count", "8", "--seed", "262", "--compiled", "4"]
    done = subprocess.run(words, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {words.rpartition(" ")[0]: int(words.rpartition(" ")[2]) for words in done.stdout.split(";")[0].split(", ")}
    assert told["policies"] == 8
    assert told["compiled and right"] >= 1, "compiled policies are tried, not refused for what the soak does"
    assert told[ENDLESS] >= 1
    assert "failures 0" in done.stdout


@pytest.mark.parametrize("compiled", [False, True])
def test_a_seed_gives_one_policy(compiled: bool) -> None:
    """What a seed gives is the same every time, and other seeds give others."""
    texts = [generate(seed, compiled=compiled).text for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


OVERFLOWS = """import wattline as wl


@wl.policy("select", compiled=True, memory=1)
def mine(s, happened, param, memory):
    n = 0
    for i in range(s.q_head[0], s.q_tail[0]):
        memory[0] = (-100000 // 7) // ((1 << 62) * int(s.want_cap_w[i]))
    return n
"""


def test_a_product_that_overflows_to_0_is_no_divisor(tmp_path: Path) -> None:
    """A compiled policy that divides by what overflowed is refused with its name: it ended the process."""
    (tmp_path / "mine.py").write_text(OVERFLOWS)
    (tmp_path / "s.toml").write_text(
        '[trace]\ngenerator = "lublin"\njobs = 20\nload = 0.9\n[cluster]\nnodes = 16\nidle = 100\nmax = 300\n'
        '[policy]\nselect = "mine.py"\n'
    )
    words = [sys.executable, "-m", "wattline", "run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "o")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "policy 'mine': ZeroDivisionError" in done.stderr
