"""What Wattline notes at a job in AdminComment, which users cannot write: a controller that starts anew reads it.

``wattline=held`` · ``wattline=run`` (released by us) · ``wattline=stopped,since=…`` · ``wattline=requeued`` ·
``wattline=left`` (given back to Slurm, since it could not be placed) · ``wattline=free`` (given back by
``wattline off``, or as its user wished: who holds it from now on is not the script at entry). With each, once the job
was stopped,
``paused=SECONDS,given=MINUTES``: how long it was stopped before, and by how much its time limit was extended for that.
A moldable job has ``asked=NODES,limit=MINUTES`` (what it asked for; 0: no limit) and, while it runs,
``cores=CORES,cap=WATTS`` of the configuration that was chosen for it. Behind a blank may follow in words why a job
waits, or was given back: for people.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

Word = Literal["", "held", "run", "stopped", "requeued", "left", "free", "theirs"]
"""theirs: released or started by others; it is left alone from then on (never written)."""
WORDS: tuple[Word, ...] = ("held", "run", "stopped", "requeued", "left", "free")
ENTRY = ("held_for", "wattline")
"""In a job's comment (held_for=wattline): it was held at submission for us, by job_submit/lua. A user who writes it
there himself gets what all others get.
"""


@dataclass(frozen=True)
class Mark:
    """What is noted at a job."""

    word: Word = ""
    since_s: float = math.nan
    """When it was stopped."""
    paused_s: float = 0.0
    given_min: int = 0
    asked: int = 0
    """Nodes that a moldable job asked for; 0: it was never given others."""
    limit_min: int = 0
    cores: int = 0
    cap_w: int = 0

    def __str__(self) -> str:
        text = f"wattline={self.word}"
        if self.word == "stopped":
            text += f",since={self.since_s:.0f}"
        if self.paused_s > 0.0 or self.given_min > 0:
            text += f",paused={math.ceil(self.paused_s)},given={self.given_min}"
        if self.asked:
            text += f",asked={self.asked},limit={self.limit_min}"
        if self.cores:
            text += f",cores={self.cores},cap={self.cap_w}"
        return text

    def waits(self, word: Word) -> Mark:
        """Return the mark of a job that waits again: all that is left is what it asked for."""
        return Mark(word, asked=self.asked, limit_min=self.limit_min)

    def stopped(self, now_s: float) -> Mark:
        """Return the mark of a job that is stopped now."""
        return replace(self, word="stopped", since_s=now_s)

    def goes_on(self, now_s: float) -> Mark:
        """Return the mark of a job that goes on now."""
        return replace(self, word="run", since_s=math.nan, paused_s=self.all_paused_s(now_s))

    def all_paused_s(self, now_s: float) -> float:
        """Return for how long a job was stopped, up to now."""
        more_s = max(0.0, now_s - self.since_s) if self.word == "stopped" and math.isfinite(self.since_s) else 0.0
        return self.paused_s + more_s

    def owed_min(self, now_s: float) -> int:
        """Return by how many minutes the time limit must still be extended; Slurm counts in whole ones."""
        return max(0, math.ceil(self.all_paused_s(now_s) / 60.0) - self.given_min)


def read_mark(text: str) -> Mark:
    """Return the mark in an AdminComment; without one, an empty mark.

    >>> read_mark("wattline=stopped,since=1731750000,paused=90,given=2").paused_s
    90.0
    """
    found = re.search(r"(?:^|\s)wattline=(\w+)((?:,\w+=\d{1,12})*)(?:\s|$)", text)
    if found is None or found[1] not in WORDS:
        return Mark()
    numbers = {key: int(value) for key, value in re.findall(r",(\w+)=(\d+)", found[2])}
    word = next(word for word in WORDS if word == found[1])
    whole = (numbers.get(key, 0) for key in ("given", "asked", "limit", "cores", "cap"))
    return Mark(word, float(numbers.get("since", math.nan)), float(numbers.get("paused", 0)), *whole)
