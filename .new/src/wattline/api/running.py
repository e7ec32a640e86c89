"""Carry one wired study out: compile what it needs, simulate, and see that it did anything at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wattline.errors import ScenarioError
from wattline.files import in_this_folder

if TYPE_CHECKING:
    from wattline.api.listener import Listener
    from wattline.scenario.study import Study
    from wattline.sim.keeping import Keeper
    from wattline.wiring.result import Result


def prepare(study: Study, listener: Listener, others: Iterable[Study] = ()) -> None:
    """Say what is to be known of a study before it runs, and compile what it and the others need."""
    from wattline.api.assumptions import say_assumptions

    listener.notes((n.action, n.reason, n.count, n.example) for n in study.notes)
    say_assumptions(study, listener)
    slots = [m for one in (study, *others) for m in one.policies.slots()]
    shared = any(sent.share > 0 for sent in study.options.communication)
    listener.warm_up(slots, nodes_change=study.cluster.nodes_change or shared)


def carry_out(study: Study, listener: Listener, *, what: str = "simulating", keeper: Keeper | None = None) -> Result:
    """Simulate a study, or carry it on; a machine on which no job can run is an error."""
    with listener.progress(what) as progress, in_this_folder():
        result = study.simulate(progress, keeper)
    rejected = [note[1:] for note in result.notes if note[0] == "rejected"]
    if len(study.trace.jobs) == sum(count for _, count, _ in rejected):
        reasons = "; ".join(
            f"{count:,} × {reason}" + (f", e.g. {example}" if example else "") for reason, count, example in rejected
        )
        raise ScenarioError(f"no job of the trace can run on this cluster: {reasons}")
    listener.notes(result.notes)
    return result
