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
