"""One fault after another on a real Slurm, two or three at a time, for as long as there is time."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import slurm_site_faults as site
from slurm_run import MAX_W
from slurm_storm import ends_well, some, storm

from wattline.demo.slurm_cluster import SlurmCluster, why_no_rest


def play(minutes: float, seed: int, nodes: int = 16) -> Counter[str]:
    """Let one thing after another happen to a Slurm of its own, up to three at a time; return how often each did."""
    done, end = Counter[str](), time.monotonic() + 60.0 * minutes
    with tempfile.TemporaryDirectory(prefix="wattline-slurm-") as folder:
        Path(folder).chmod(0o755)
        slurm = SlurmCluster(Path(folder) / "slurm", nodes=nodes, rest=not why_no_rest())
        slurm.base.mkdir()
        slurm.base.chmod(0o755)
        with slurm.running(), storm(slurm, seed=seed, cap="match-target", folder=Path(folder) / "journal") as run:
            run.go(run.led)
            rnd = run.random

            def some_nodes() -> list[str]:
                return rnd.sample(slurm.names, rnd.choice((1, 3, nodes)))

            def not_obeyed() -> None:
                site.press(run)
                site.caps_are_not_obeyed(run, rnd.sample(slurm.names, 3), rnd.choice((320.0, MAX_W)), 10.0)

            def sensors() -> None:
                fault = rnd.choice(("nothing", "stuck", "wild", "far too low", "low", "far too high"))
                site.sensors_fail(run, rnd.sample(slurm.names, 3), fault, rnd.uniform(2.0, 15.0))

            def token() -> None:
                if slurm.rest:
                    site.the_token_expires(run, slurm, Path(folder))

            acts: dict[str, Callable[[], None]] = {
                "slurmctld is gone": lambda: run.slurmctld_is_gone(rnd.choice((1.0, 5.0, 60.0))),
                "slurmctld hangs": lambda: run.slurmctld_hangs(rnd.choice((0.5, 3.0, 20.0))),
                "munge is down": lambda: run.munge_is_down(rnd.choice((1.0, 5.0, 30.0))),
                "slurmd is killed": lambda: run.slurmd_is_killed(rnd.choice((1.0, 5.0, slurm.slurmd_timeout_s + 15.0))),
                "another order of names": run.names_change_their_order,
                "a release is requeued": run.a_release_is_requeued,
                "users act": run.users_act,
                "nonsense arrives": run.nonsense_arrives,
                "an agent lies": lambda: run.an_agent_lies(rnd.uniform(3.0, 20.0)),
                "an agent is started anew": run.an_agent_is_started_anew,
                "two controllers": lambda: run.two_controllers(Path(tempfile.mkdtemp(dir=folder))),
                "the token expires": token,
                "the bus is cut": lambda: site.the_bus_is_cut(run, some_nodes(), rnd.choice((3.0, 30.0))),
                "agents are killed": lambda: site.agents_are_killed(run, some_nodes(), rnd.choice((3.0, 20.0))),
                "sensors fail": sensors,
                "caps are not obeyed": not_obeyed,
                "the signal goes wrong": lambda: site.the_signal_goes_wrong(run, rnd.choice((0.5, 3.0))),
                "the clock is set": lambda: site.the_clock_is_set(run, rnd.choice((-86400.0, -60.0, 60.0, 86400.0))),
                "the disk is full": lambda: site.the_disk_is_full(run, rnd.choice((2.0, 20.0))),
                "the controller is killed": lambda: site.the_controller_is_killed(
                    run, rnd.choice((0.0, 5.0, 20.0)), log_is_lost=rnd.random() < 0.3
                ),
            }
            deck: list[str] = []
            while time.monotonic() < end:
                some(run, rnd.randint(4, 16))
                happened: list[str] = []
                try:
                    for _ in range(rnd.randint(1, 3)):
                        deck = deck or rnd.sample(sorted(acts), len(acts))  # each has its turn
                        happened.append(deck.pop())
                        acts[happened[-1]]()
                        some(run, rnd.randint(0, 6))
                    ends_well(run)
                except AssertionError as broken:
                    raise AssertionError(f"{', then '.join(happened)}: {broken}") from broken
                done.update(happened)
                run.forget()
    return done
