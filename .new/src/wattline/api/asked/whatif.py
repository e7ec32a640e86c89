"""``wl.whatif``: a log as it is, and as it would be under a limit, with sleep, more nodes, growth …: an answer in a
sentence, its cause, and who feels it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wattline.api.asked import questions
from wattline.api.asked.effects import (
    DOMINANT,
    Cause,
    Felt,
    as_much_of_others,
    choose,
    felt,
    heaviest_user,
    idle_words,
    is_noticed,
    mean_waits_s,
    more_wait_s,
    whose_never_start,
    widest,
    without_jobs,
)
from wattline.api.asked.hearing import Once, Silent
from wattline.api.asked.questions import AS_IT_IS, Asked, Ground, quantity
from wattline.api.asking import Policy, ask
from wattline.api.compared import Comparison
from wattline.api.listener import Listener
from wattline.api.machine import Machine, Quantity
from wattline.api.plain import as_plain, in_python
from wattline.api.runs import Run, check_switches, path_of
from wattline.api.studies import Study
from wattline.api.trace import FRAME, Trace, from_frame, read_trace
from wattline.errors import InputError
from wattline.units import power_w, show_duration, show_energy, show_power

IDLE_W, MAX_W = 100.0, 300.0
"""Watts of a node that are assumed where a question needs some and none were given."""


@dataclass
class Answer:
    """What one question comes to, against the log as it is."""

    label: str
    """What was asked, in words."""
    setting: Mapping[str, Any]
    before: Run
    after: Run
    cause: Cause | None = None
    short: str = ""
    """What was asked, in so few words that it fits over a column."""
    phrase: str = ""
    """What was asked, as a sentence goes on after it."""

    @cached_property
    def felt(self) -> list[Felt]:
        """Users, groups and sizes by how much longer they wait, those that lose most first."""
        return felt(self.before, self.after)

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        if self.after is self.before:  # only what it costs was asked
            return f"The log as it is: {_cost(self)}."
        parts = [_waits(self.before, self.after)]
        parts += [words for words in (_lost(self), _power(self), _cost(self)) if words]
        return f"With {self.phrase or self.label} {'; '.join(parts)}."

    @property
    def why(self) -> str:
        """The cause in a sentence ("": none dominates)."""
        if self.cause is None:
            return ""
        gone = "the whole effect" if self.cause.part >= 0.995 else f"{self.cause.part:.0%} of the effect"
        return f"The cause is {self.cause.words}. Without {self.cause.pronoun} {gone} would be gone."


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

    @property
    def in_memory(self) -> bool:
        """Whether the jobs are in memory alone: no scenario can name their file."""
        return str(self.study.data["trace"].get("file", "")).startswith(FRAME)

    def scenario(self) -> str:
        """Return the study as the text of a scenario: the log as it is, and a sweep over what was asked."""
        from wattline.scenario.key_units import as_written
        from wattline.scenario.read.toml_text import to_toml

        data = self.study.data
        if self.in_memory:
            told = "the jobs are in memory, and a scenario reads a file"
            raise InputError(f'{told}: write them (trace.jobs.write_parquet("jobs.parquet")) and ask about that file')
        if "file" in data["trace"]:  # the study may lie anywhere
            data["trace"]["file"] = str(Path(data["trace"]["file"]).absolute())
        names = list(dict.fromkeys(key for answer in self.answers for key in answer.setting))
        rows: list[list[Any]] = []
        for setting in ({}, *(answer.setting for answer in self.answers)):
            row = [setting.get(key, _own(data, key)) for key in names]
            if row not in rows:  # a policy that was asked for may be that of the log as it is
                rows.append(row)
        keys = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if names else {}
        sweep: dict[str, Any] = {key: as_written(key, values) for key, values in keys.items()}
        if len(keys) > 1:
            sweep["zipped"] = [list(keys)]
        return to_toml({**as_written("", data), **({"sweep": sweep} if sweep else {})})

    def write(self, path: Path | str) -> Path:
        """Write the page of the answers."""
        from wattline.report.pages.whatif import write_whatif

        return write_whatif(self, path_of("write", path))

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
    policy: Policy = None,
    growth: str | float | None = None,
    price: Path | str | Mapping[str, Any] | None = None,
    sleep_power: Quantity | None = None,
    wake: Quantity | None = None,
    select: Policy = "easy",
    order: Policy = "fcfs",
    seed: int = 1,
    causes: bool = True,
    listener: Listener | None = None,
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
        Policies that say which waiting jobs start: ``"conservative"``, ``"easy,conservative"``, or a list.
    growth
        So many times the load: the same jobs in a shorter time.
    price
        Prices of energy over time: a file, or the keys of ``[prices] energy``, like
        ``{"file": "tariff.csv", "unit": "$/kWh"}``.
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

    Returns
    -------
    WhatIf
        Answers with a sentence, a cause and who feels it each; ``write`` makes a page, ``scenario`` a study.
    """
    check_switches("whatif", causes=causes)
    told = {"limit": limit, "sleep": sleep, "nodes": nodes, "policy": policy, "growth": growth, "price": price}
    if all(value is None for value in told.values()):
        raise InputError(f"whatif: ask something: {', '.join(told)}")
    given = as_plain(told | {"sleep_power": sleep_power, "wake": wake})
    asked = questions.read_questions(**given, words=in_python)
    return answer(asked, trace, machine, select=select, order=order, seed=seed, causes=causes, listener=listener)


def answer(
    asked: Asked,
    trace: Trace | Path | str,
    machine: Machine | None = None,
    *,
    select: Policy = "easy",
    order: Policy = "fcfs",
    seed: int = 1,
    causes: bool = True,
    listener: Listener | None = None,
    words: Callable[[str, Any], str] = in_python,
) -> WhatIf:
    """Answer questions that were checked; ``words`` tells how an argument about the log as it is was typed."""
    if machine is not None and not isinstance(machine, Machine):
        raise InputError(f"whatif: machine is a wl.Machine, got {type(machine).__name__}")
    jobs = trace if isinstance(trace, Trace) else read_trace(trace)
    warnings: list[str] = []
    given = _sized(jobs, machine or Machine(), words, needs_watts=asked.needs_watts, warnings=warnings)
    jobs = jobs.as_log()
    document = ask(jobs, given, policies={"select": select, "order": order}, seed=seed, words=words)
    study = Study(document)
    if asked.price is not None:  # what is compared is billed alike
        study = study.set({"prices.energy": dict(asked.price)})
    ground = _ground(jobs, given)
    _check(asked, study, ground)
    hear = Once(listener or Listener())
    hear.assumed = bool(warnings)
    base = study.simulate(listener=hear)
    hear.imagined = True
    told_w = base.summary.power.peak_w if base.summary.has_power else math.nan
    ground = replace(ground, unit=base.summary.unit, peak_w=told_w)
    found = _answers(asked, study, base, hear, ground)
    all_of_it = WhatIf(study, base, found or [Answer(AS_IT_IS, {}, base, base, short=AS_IT_IS)], warnings)
    if causes:
        for one in found:  # (nothing to find where nothing was changed)
            one.cause = _cause(one, all_of_it, jobs, ground)
    return all_of_it


def _check(asked: Asked, study: Study, ground: Ground) -> None:
    """Refuse what the scenario does not take before anything is run."""
    for question in asked.questions:
        if question.of_peak:
            continue
        change = question.change(ground)
        try:
            study.at(questions.rows([change], ground)[0].keys)
        except InputError as problem:
            raise problem.preceded(f"{question.told}: ") from None


def _answers(asked: Asked, study: Study, base: Run, hear: Listener, ground: Ground) -> list[Answer]:
    found = []
    for one in questions.rows([question.change(ground) for question in asked.questions], ground):
        after = study.at(one.keys).simulate(listener=hear)
        found.append(Answer(one.label, one.keys, base, after, short=one.short, phrase=one.phrase))
    return found


def _sized(
    jobs: Trace, given: Machine, words: Callable[[str, Any], str], *, needs_watts: bool, warnings: list[str]
) -> Machine:
    """Return the machine with everything said that the log only implies: its size, and watts of what is scheduled."""
    idle_w, max_w = (
        None if watts is None else quantity(power_w, watts, words(name, watts))
        for name, watts in (("idle", given.idle), ("max", given.max))
    )
    table = jobs._table()
    count = table.suggested_nodes if given.nodes is None else given.nodes
    if given.classes:
        raise InputError("whatif: asks about nodes that are alike; give nodes, idle and max in the place of classes")
    if count is None:
        beside = "" if given.network is None else " beside its network"
        hint = f"give its nodes{beside} (--machine, or Machine(nodes=…))"
        raise InputError(f"{jobs.name}: the log does not say how large its machine is; {hint}")
    shared = table.machine is not None and table.machine.unit == "processor" and given.nodes is None
    divide = table.machine.per_node if shared and table.machine is not None else 1
    if needs_watts and idle_w is None and max_w is None:
        idle_w, max_w = IDLE_W, MAX_W
        each = f"{show_power(IDLE_W)} idle and {show_power(MAX_W)} busy a node"
        warnings.append(f"POWER ASSUMED: {each}, because no watts were given; say them, for the answer rests on them")
    idle_w, max_w = (None if watts is None else watts / divide for watts in (idle_w, max_w))
    return replace(given, nodes=count, idle=idle_w, max=max_w)


def _ground(jobs: Trace, machine: Machine) -> Ground:
    from wattline.scenario.sections.trace import offered_load

    table = jobs._table()
    idle_w = 0.0 if machine.idle is None else power_w(machine.idle)
    assert machine.nodes is not None  # noqa: S101 - it was sized
    return Ground(machine.nodes, idle_w, lambda n: offered_load(table, n))


# ---------------------------------------------------------------------- causes


def _cause(answer: Answer, asked: WhatIf, jobs: Trace, ground: Ground) -> Cause | None:
    """Return what longer waits come from: the suspect without whom most of the effect is gone."""
    before_s, after_s = mean_waits_s(answer.before, answer.after)
    if not (after_s > before_s and is_noticed(before_s, after_s)):
        return None
    added = _idle_of_added(answer, asked, ground)
    if added is not None and added.part >= DOMINANT:
        return added
    return choose(_suspects(answer, asked, jobs, ground))


def _idle_of_added(answer: Answer, asked: WhatIf, ground: Ground) -> Cause | None:
    """Suspect the idle power of nodes that were added under a limit: let all nodes together draw as much as before."""
    count, limit_w = answer.setting.get("cluster.nodes"), answer.setting.get("limit.power")
    if limit_w is None or count is None or count <= ground.nodes or not ground.idle_w > 0.0:
        return None
    lighter = dict(answer.setting) | {"cluster.idle": ground.idle_w * ground.nodes / count}
    whole_s = more_wait_s(answer.before, answer.after)
    left_s = more_wait_s(answer.before, asked.study.at(lighter).simulate(listener=Silent()))
    words = idle_words(count - ground.nodes, ground.idle_w, limit_w, ground.unit, added=True)
    return Cause(words, min(1.0, 1.0 - left_s / whole_s))


def _suspects(answer: Answer, asked: WhatIf, jobs: Trace, ground: Ground) -> list[Cause]:
    found = []
    limit_w = answer.setting.get("limit.power")
    if limit_w is not None and ground.idle_w > 0.0 and "cluster.sleep" not in answer.setting:
        dark = dict(answer.setting) | {"cluster.sleep": {"power": 0.0, "after": 0.0}}
        whole_s = more_wait_s(answer.before, answer.after)
        left_s = more_wait_s(answer.before, asked.study.at(dark).simulate(listener=Silent()))
        count = answer.setting.get("cluster.nodes", ground.nodes)
        words = idle_words(count, ground.idle_w, limit_w, ground.unit, added=False)
        found.append(Cause(words, min(1.0, 1.0 - left_s / whole_s)))

    def again(gone: set[Any]) -> tuple[Run, Run]:
        import polars as pl

        rest = from_frame(
            jobs.jobs.filter(~pl.col("job_id").is_in(list(gone))),
            name=jobs.name,
            epoch_unix_s=jobs.epoch_unix_s,
            zone=jobs.zone,
        )
        study = Study(_on(asked.study, rest))
        setting = dict(answer.setting)
        if "trace.load" in setting:  # their gaps shrink as those of all did
            setting["trace.load"] *= _ratio(jobs, rest, setting.get("cluster.nodes", ground.nodes))
        return study.simulate(listener=Silent()), study.at(setting).simulate(listener=Silent())

    def part_of(ids: Sequence[Any]) -> float:
        return min(1.0, without_jobs(answer.before, answer.after, ids, again) or 0.0) if ids else 0.0

    wide = widest(answer.before)
    if wide:
        word = "one wide job" if len(wide) == 1 else f"{len(wide)} wide jobs"
        words = f"{word} ({', '.join(map(str, wide))})"
        found.append(Cause(words, part_of(wide), "it" if len(wide) == 1 else "them", len(wide)))
    heavy = heaviest_user(answer.before)
    if heavy is not None:
        name, ids, share = heavy
        part = part_of(ids)
        # what goes as well with as much work of others comes from the load, not from him
        if part >= DOMINANT and part_of(as_much_of_others(answer.before, ids)) <= part / 2:
            words = f"user {name}, whose {len(ids):,} jobs do {share:.0%} of the work"
            found.append(Cause(words, part, "them", len(ids)))
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


def _waits(before: Run, after: Run) -> str:
    """Return how long jobs wait: those that start in both runs, for the waits of others have nothing beside them."""
    old, new = before.summary.jobs.started, after.summary.jobs.started
    old_s, new_s = mean_waits_s(before, after)
    if math.isnan(new_s):
        alone_s = after.summary.wait_s.mean
        return "no job starts" if math.isnan(alone_s) else f"jobs wait {show_duration(alone_s)} on average"
    who = "jobs" if old == new else "jobs that start in both"
    old_words, new_words = show_duration(old_s), show_duration(new_s)
    if new_words == old_words:
        return f"{who} wait as long as before ({new_words} on average)"
    return f"{who} wait {new_words} on average instead of {old_words}"


def _lost(answer: Answer) -> str:
    from wattline.report.show import plural

    old, new = answer.before.summary.jobs, answer.after.summary.jobs
    told = []
    if (more := new.rejected - old.rejected) > 0:
        whose = whose_never_start(answer.before, answer.after)
        told.append(f"{plural(more, 'job')}{f', {whose},' if whose else ''} can never start")
    if (more := new.unfinished - old.unfinished) > 0:
        told.append(f"{plural(more, 'job')} {'does' if more == 1 else 'do'} not end")
    return " and ".join(told)


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

    def told(run: Run) -> str:
        left_s = run.summary.value("accounts.total.unpriced_s")
        beyond = f" without {show_duration(left_s)} that have no price" if left_s > 0.0 else ""
        return f"{dollars(run.summary.value('cost'))}{beyond}"

    if math.isnan(answer.after.summary.value("cost")):
        return ""
    same = answer.after is answer.before
    return f"its energy costs {told(answer.after)}" + ("" if same else f" instead of {told(answer.before)}")
