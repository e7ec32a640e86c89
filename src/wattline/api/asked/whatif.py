"""``wl.whatif``: a log as it is, and as it would be under a limit, with sleep, more nodes, growth …: an answer in a
sentence, its cause, and who feels it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.asked import questions
from wattline.api.asked.effects import (
    DOMINANT,
    Cause,
    Felt,
    felt,
    heaviest_user,
    idle_words,
    is_noticed,
    mean_wait_s,
    widest,
    without_jobs,
)
from wattline.api.asked.questions import AS_IT_IS, Change, Ground
from wattline.api.asking import Policy, ask, in_python
from wattline.api.compared import Comparison
from wattline.api.listener import Listener, Note
from wattline.api.machine import Machine, Quantity
from wattline.api.runs import Run
from wattline.api.studies import Study
from wattline.api.trace import Trace, from_frame, read_trace
from wattline.errors import InputError
from wattline.units import power_w, show_duration, show_energy, show_power

if TYPE_CHECKING:
    from wattline.report.count.metrics import Summary


class Silent(Listener):
    """Who hears nothing: runs that only look for a cause are not shown."""

    def __init__(self) -> None:
        super().__init__(progress=False)

    def loud(self, text: str) -> None:
        """Hear nothing."""


class Once(Listener):
    """Who tells another one what it hears, but nothing twice: runs of the same jobs have much in common."""

    def __init__(self, other: Listener) -> None:
        super().__init__()
        self._other = other
        self._heard: set[Any] = set()
        self.imagined = False
        """Whether a run is of what never was: that it is hard to believe is no news."""

    def _is_new(self, what: Any) -> bool:
        new = what not in self._heard
        self._heard.add(what)
        return new

    def say(self, text: str) -> None:
        """Hear a remark about what is done next."""
        if self._is_new(text):
            self._other.say(text)

    def tell(self, text: str) -> None:
        """Hear what to know of a run."""
        if self._is_new(text):
            self._other.tell(text)

    def loud(self, text: str) -> None:
        """Hear what nobody should overlook."""
        if self._is_new(text) and not self.imagined:
            self._other.loud(text)

    def notes(self, notes: Iterable[Note], label: str = "") -> None:
        """Hear what was dropped, repaired, rejected or kept on purpose."""
        self._other.notes([note for note in notes if self._is_new(note)], label)

    def warm_up(self, policies: Sequence[Any] = (), *, nodes_change: bool | None = True) -> None:
        """Compile what a run needs."""
        self._other.warm_up(policies, nodes_change=nodes_change)

    def progress(self, what: str, keeping: str = "") -> Any:
        """Show a bar."""
        return self._other.progress(what, keeping) if keeping else self._other.progress(what)


IDLE_W, MAX_W = 100.0, 300.0
"""Watts of a node that are assumed where a question needs some and none were given."""


@dataclass
class Answer:
    """What one question comes to, against the log as it is."""

    label: str
    setting: Mapping[str, Any]
    before: Run
    after: Run
    cause: Cause | None = None

    @cached_property
    def felt(self) -> list[Felt]:
        """Users, groups and sizes by how much longer they wait, those that lose most first."""
        return felt(self.before, self.after)

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        if self.after is self.before:  # only what it costs was asked
            return f"The log as it is: {_cost(self)}."
        parts = [_waits(self.before.summary, self.after.summary)]
        parts += [words for words in (_lost(self), _power(self), _cost(self)) if words]
        return f"With {self.label} {'; '.join(parts)}."

    @property
    def why(self) -> str:
        """The cause in a sentence ("": none dominates)."""
        if self.cause is None:
            return ""
        gone = "the whole effect" if self.cause.part >= 0.995 else f"{self.cause.part:.0%} of the effect"
        return f"The cause is {self.cause.words}: without it {gone} would be gone."


@dataclass
class WhatIf:
    """Answers to the questions that were asked of a log."""

    study: Study
    """The log as it is."""
    base: Run
    answers: list[Answer]
    warnings: list[str] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The answer to all questions together, or to the only one."""
        last = self.answers[-1]
        return f"{last.sentence} {last.why}".strip()

    @cached_property
    def comparison(self) -> Comparison:
        """All runs side by side, against the log as it is."""
        runs = {AS_IT_IS: [self.base.summary]}
        return Comparison(runs | {a.label: [a.after.summary] for a in self.answers if a.after is not a.before})

    def scenario(self) -> str:
        """Return the study as the text of a scenario: the log as it is, and a sweep over what was asked."""
        from wattline.scenario.read.toml_text import to_toml

        keys: dict[str, list[Any]] = {}
        for answer in self.answers:
            for key in answer.setting:
                keys.setdefault(key, [])
        data = self.study.data
        if "file" in data["trace"]:  # the study may lie anywhere
            data["trace"]["file"] = str(Path(data["trace"]["file"]).absolute())
        settings = [{}, *(answer.setting for answer in self.answers)]
        for setting in settings:
            for key, values in keys.items():
                values.append(setting.get(key, _own(data, key)))
        sweep: dict[str, Any] = {**keys}
        if len(keys) > 1:
            sweep["zipped"] = [list(keys)]
        return to_toml({**data, "sweep": sweep})

    def write(self, path: Path | str) -> Path:
        """Write the page of the answers."""
        from wattline.report.pages.whatif import write_whatif

        return write_whatif(self, Path(path))

    def __repr__(self) -> str:
        return "\n".join(f"{answer.sentence} {answer.why}".strip() for answer in self.answers)


def _own(data: Mapping[str, Any], dotted: str) -> Any:
    """Return what a scenario says of a key; "off" where it says nothing."""
    found: Any = data
    for part in dotted.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return "off" if found is None else found


def whatif(
    trace: Trace | Path | str,
    machine: Machine | None = None,
    *,
    limit: Quantity | None = None,
    sleep: Quantity | None = None,
    nodes: str | int | None = None,
    policy: str | Sequence[str] | None = None,
    growth: str | float | None = None,
    price: Path | str | None = None,
    sleep_power: Quantity | None = None,
    wake: Quantity | None = None,
    select: Policy = "easy",
    order: Policy = "fcfs",
    seed: int = 1,
    causes: bool = True,
    listener: Listener | None = None,
    words: Callable[[str, Any], str] | None = None,
) -> WhatIf:
    """Ask what would have been: each change alone against the log as it is, and all of them together.

    Parameters
    ----------
    trace
        The log (a path is read).
    machine
        The cluster as it is (default: as the log says). Where a question needs watts and it has none, 100 W idle and
        300 W busy a node are assumed, with a warning.
    limit
        A power limit: ``"30 kW"``, watts, or ``"-20%"`` of the peak that the machine draws.
    sleep
        Nodes sleep after so much idle time: ``"10 min"``, or seconds.
    nodes
        Another number of nodes: ``128``, ``"+16"`` or ``"+20%"``.
    policy
        Policies that say which waiting jobs start: ``"conservative"``, or several.
    growth
        So many times the load: the same jobs in a shorter time.
    price
        Prices of energy over time, a file as ``[prices] energy`` takes it.
    sleep_power, wake
        Power of a node asleep (default: a tenth of its idle power) and the time that waking takes (default: 3 min).
    select, order
        Policies of the log as it is.
    seed
        Seed of everything random.
    causes
        Whether to look for the cause of longer waits; that takes a few more runs.
    listener
        Who is told what happens.
    words
        How an argument was typed, for messages.

    Returns
    -------
    WhatIf
        Answers with a sentence, a cause and who feels it each; ``write`` makes a page, ``scenario`` a study.
    """
    told = {"limit": limit, "sleep": sleep, "nodes": nodes, "policy": policy, "growth": growth, "price": price}
    if all(value is None for value in told.values()):
        raise InputError(f"whatif: ask something: {', '.join(told)}")
    jobs = trace if isinstance(trace, Trace) else read_trace(trace)
    given = machine or Machine()
    warnings: list[str] = []
    needs_watts = any(value is not None for value in (limit, sleep, price))
    given = _sized(jobs, given, needs_watts=needs_watts, warnings=warnings)
    policies = {"select": select, "order": order}
    document = ask(jobs, given, policies=policies, seed=seed, words=words or in_python)
    study = Study(document)
    if price is not None:  # what is compared is billed alike
        study = study.set({"prices.energy": {"file": str(Path(price).absolute())}})
    hear = Once(listener or Listener())
    base = study.simulate(listener=hear)
    hear.imagined = True
    ground = _ground(jobs, given, base)
    changes: list[Change] = []
    if limit is not None:
        changes.append(questions.ask_limit(limit, ground))
    if sleep is not None:
        changes.append(questions.ask_sleep(sleep, ground, sleep_power, wake))
    if nodes is not None:
        changes.append(questions.ask_nodes(nodes, ground))
    if growth is not None:
        changes.append(questions.ask_growth(growth))
    if policy is not None:
        changes += questions.ask_policies(policy)
    found = []
    for label, setting in questions.rows(changes, ground).items():
        after = study.at(setting).simulate(listener=hear)
        found.append(Answer(label, setting, base, after))
    asked = WhatIf(study, base, found or [Answer(AS_IT_IS, {}, base, base)], warnings)
    if causes:
        for answer in found:  # (nothing to find where nothing was changed)
            answer.cause = _cause(answer, asked, jobs, ground)
    return asked


def _sized(jobs: Trace, given: Machine, *, needs_watts: bool, warnings: list[str]) -> Machine:
    """Return the machine with everything said that the log only implies: its size, and watts of what is scheduled."""
    table = jobs._table()
    count = given.nodes or table.suggested_nodes
    if count is None:
        raise InputError(f"{jobs.name}: the log does not say how large its machine is; give nodes")
    shared = table.machine is not None and table.machine.unit == "processor" and given.nodes is None
    divide = table.machine.per_node if shared and table.machine is not None else 1
    idle_w = None if given.idle is None else power_w(given.idle) / divide
    max_w = None if given.max is None else power_w(given.max) / divide
    if needs_watts and given.idle is None and given.max is None:
        idle_w, max_w = IDLE_W / divide, MAX_W / divide
        each = f"{show_power(IDLE_W)} idle and {show_power(MAX_W)} busy a node"
        warnings.append(f"POWER ASSUMED: {each}, because no watts were given; say them, for the answer rests on them")
    return replace(given, nodes=count, idle=idle_w, max=max_w)


def _ground(jobs: Trace, machine: Machine, base: Run) -> Ground:
    from wattline.scenario.sections.trace import offered_load

    table = jobs._table()
    idle_w = 0.0 if machine.idle is None else power_w(machine.idle)
    peak_w = base.summary.power.peak_w if base.summary.has_power else math.nan
    assert machine.nodes is not None  # noqa: S101 - it was sized
    return Ground(machine.nodes, idle_w, peak_w, lambda n: offered_load(table, n), base.summary.unit)


# ---------------------------------------------------------------------- causes


def _cause(answer: Answer, asked: WhatIf, jobs: Trace, ground: Ground) -> Cause | None:
    """Return what longer waits come from: the suspect without whom most of the effect is gone."""
    before_s, after_s = mean_wait_s(answer.before), mean_wait_s(answer.after)
    added = _idle_of_added(answer, asked, ground)
    if added is not None and added.part >= DOMINANT:
        return added
    found = []
    if after_s > before_s and is_noticed(before_s, after_s):
        found = _suspects(answer, asked, jobs, ground)
    return max((cause for cause in found if cause.part >= DOMINANT), key=lambda cause: cause.part, default=None)


def _idle_of_added(answer: Answer, asked: WhatIf, ground: Ground) -> Cause | None:
    """Suspect the idle power of nodes that were added under a limit: let all nodes together draw as much as before."""
    count, limit_w = answer.setting.get("cluster.nodes"), answer.setting.get("limit.power")
    if limit_w is None or count is None or count <= ground.nodes or not ground.idle_w > 0.0:
        return None
    fewer = {key: value for key, value in answer.setting.items() if key != "cluster.nodes"}
    alone = next((one.after for one in asked.answers if one.setting == fewer), None)
    alone = alone or asked.study.at(fewer).simulate(listener=Silent())
    effect_s = mean_wait_s(answer.after) - mean_wait_s(alone)
    if not (effect_s > 0.0 and is_noticed(mean_wait_s(alone), mean_wait_s(answer.after))):
        return None
    lighter = dict(answer.setting) | {"cluster.idle": ground.idle_w * ground.nodes / count}
    left_s = mean_wait_s(asked.study.at(lighter).simulate(listener=Silent())) - mean_wait_s(alone)
    words = idle_words(count - ground.nodes, ground.idle_w, limit_w, ground.unit, added=True)
    return Cause(words, min(1.0, 1.0 - left_s / effect_s))


def _suspects(answer: Answer, asked: WhatIf, jobs: Trace, ground: Ground) -> list[Cause]:
    found = []
    limit_w = answer.setting.get("limit.power")
    if limit_w is not None and ground.idle_w > 0.0 and "cluster.sleep" not in answer.setting:
        dark = dict(answer.setting) | {"cluster.sleep": {"power": 0.0, "after": 0.0}}
        whole_s = mean_wait_s(answer.after) - mean_wait_s(answer.before)
        left_s = mean_wait_s(asked.study.at(dark).simulate(listener=Silent())) - mean_wait_s(answer.before)
        count = answer.setting.get("cluster.nodes", ground.nodes)
        words = idle_words(count, ground.idle_w, limit_w, ground.unit, added=False)
        found.append(Cause(words, min(1.0, 1.0 - left_s / whole_s)))

    def again(gone: set[Any]) -> tuple[Run, Run]:
        import polars as pl

        rest = from_frame(jobs.jobs.filter(~pl.col("job_id").is_in(list(gone))), name=jobs.name)
        study = Study(_on(asked.study, rest))
        setting = dict(answer.setting)
        if "trace.load" in setting:  # their gaps shrink as those of all did
            setting["trace.load"] *= _ratio(jobs, rest, setting.get("cluster.nodes", ground.nodes))
        return study.simulate(listener=Silent()), study.at(setting).simulate(listener=Silent())

    wide = widest(answer.before)
    if wide and (part := without_jobs(answer.before, answer.after, wide, again)) is not None:
        word = "one wide job" if len(wide) == 1 else f"{len(wide)} wide jobs"
        found.append(Cause(f"{word} ({', '.join(map(str, wide))})", min(1.0, part)))
    heavy = heaviest_user(answer.before)
    if heavy is not None:
        name, ids, share = heavy
        if (part := without_jobs(answer.before, answer.after, ids, again)) is not None and part > share:
            found.append(Cause(f"user {name}, whose {len(ids):,} jobs do {share:.0%} of the work", min(1.0, part)))
    return found


def _on(study: Study, rest: Trace) -> Any:
    """Return the scenario of a study with other jobs."""
    from wattline.scenario.documents import Given, document

    data = study.data
    data["trace"] = dict(rest.section)
    given = Given(rest.handed, study.document.given.policies)
    return document(data, study.document.source, base=study.document.base, given=given)


def _ratio(jobs: Trace, rest: Trace, nodes: int) -> float:
    from wattline.scenario.sections.trace import offered_load

    whole = offered_load(jobs._table(), nodes)
    return offered_load(rest._table(), nodes) / whole if whole > 0.0 else 1.0


# ---------------------------------------------------------------------- words


def _waits(before: Summary, after: Summary) -> str:
    old_s, new_s = before.wait_s.mean, after.wait_s.mean
    if math.isnan(old_s) or math.isnan(new_s):
        return "no job starts" if math.isnan(new_s) else f"jobs wait {show_duration(new_s)} on average"
    if not is_noticed(old_s, new_s):
        return f"jobs wait as long as before ({show_duration(new_s)} on average)"
    return f"jobs wait {show_duration(new_s)} on average instead of {show_duration(old_s)}"


def _lost(answer: Answer) -> str:
    old, new = answer.before.summary.jobs, answer.after.summary.jobs
    words = {"rejected": "can never start", "unfinished": "do not end"}
    more = [
        f"{getattr(new, name) - getattr(old, name):,} jobs {what}"
        for name, what in words.items()
        if getattr(new, name) > getattr(old, name)
    ]
    return " and ".join(more)


def _power(answer: Answer) -> str:
    old, new = answer.before.summary, answer.after.summary
    if not (old.has_power and new.has_power):
        return ""
    parts = []
    if abs(new.power.peak_w - old.power.peak_w) > 0.005 * old.power.peak_w:
        parts.append(f"draws {show_power(new.power.peak_w)} at most instead of {show_power(old.power.peak_w)}")
    change = new.energy.total_j / old.energy.total_j - 1.0 if old.energy.total_j > 0.0 else 0.0
    if abs(change) > 0.005:
        parts.append(
            f"uses {abs(change):.1%} {'more' if change > 0 else 'less'} energy ({show_energy(new.energy.total_j)})"
        )
    return f"the machine {' and '.join(parts)}" if parts else ""


def _cost(answer: Answer) -> str:
    from wattline.report.show import dollars

    old, new = answer.before.summary.value("cost"), answer.after.summary.value("cost")
    if math.isnan(new):
        return ""
    same = answer.after is answer.before
    return f"its energy costs {dollars(new)}" + ("" if same else f" instead of {dollars(old)}")
