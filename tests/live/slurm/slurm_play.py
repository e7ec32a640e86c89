"""One fault after another on a real Slurm, two or three at a time, for as long as there is time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import slurm_site_faults as site
from slurm_run import MAX_W
from slurm_storm import ends_well, some, storm

from wattline.demo.slurm_cluster import SlurmCluster, why_no_rest


def play(minutes: float, seed: int, nodes: int = 16) -> int:
    """Let one thing after another happen to a Slurm of its own, two or three at a time; return how many did."""
    done, end = 0, time.monotonic() + 60.0 * minutes
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

            while time.monotonic() < end:
                reign = Path(folder) / f"reign{done}"
                reign.mkdir()
                acts: list[Callable[[], None]] = [
                    lambda: run.slurmctld_is_gone(rnd.choice((1.0, 5.0, 60.0))),
                    lambda: run.slurmctld_hangs(rnd.choice((0.5, 3.0, 20.0))),
                    lambda: run.munge_is_down(rnd.choice((1.0, 5.0, 30.0))),
                    lambda: run.slurmd_is_killed(rnd.choice((1.0, 5.0, slurm.slurmd_timeout_s + 15.0))),
                    run.names_change_their_order,
                    run.a_release_is_requeued,
                    run.users_act,
                    run.nonsense_arrives,
                    lambda: run.an_agent_lies(rnd.uniform(3.0, 20.0)),
                    run.an_agent_is_started_anew,
                    lambda reign=reign: run.two_controllers(reign),  # type: ignore[misc]
                    token,
                    lambda: site.the_bus_is_cut(run, some_nodes(), rnd.choice((3.0, 30.0))),
                    lambda: site.agents_are_killed(run, some_nodes(), rnd.choice((3.0, 20.0))),
                    sensors,
                    not_obeyed,
                    lambda: site.the_signal_goes_wrong(run, rnd.choice((0.5, 3.0))),
                    lambda: site.the_clock_is_set(run, rnd.choice((-86400.0, -60.0, 60.0, 86400.0))),
                    lambda: site.the_disk_is_full(run, rnd.choice((2.0, 20.0))),
                    lambda: site.the_controller_is_killed(
                        run, rnd.choice((0.0, 5.0, 20.0)), log_is_lost=rnd.random() < 0.3
                    ),
                ]
                some(run, rnd.randint(4, 16))
                for act in rnd.sample(acts, rnd.randint(1, 3)):
                    act()
                    done += 1
                    some(run, rnd.randint(0, 6))
                ends_well(run)
                run.forget()
    return done
