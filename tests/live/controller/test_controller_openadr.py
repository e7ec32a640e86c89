"""An event of a VTN is a limit in force on a controller: jobs wait for it, within the poll."""

from __future__ import annotations

from engine.worlds import cluster, policies
from live.controller.emulated import World
from live.signals.vtn import PATH, Vtn, free_port, soon
from wattline.live.clock import Clock
from wattline.live.signals.adr_events import AdrRules
from wattline.live.signals.open import Signals, SignalSettings, SignalsNow
from wattline.live.signals.openadr import AdrSettings

BASE_W = 2400.0


class Grid:
    """Signals of real time for a controller in emulated time."""

    def __init__(self, port: int) -> None:
        self.clock = Clock()
        adr = AdrSettings(f"http://127.0.0.1:{port}{PATH}", "site", poll_s=0.2)
        self.signals = Signals(SignalSettings(BASE_W, openadr=(adr, AdrRules(BASE_W))), self.clock)

    def now(self, now_s: float) -> SignalsNow:
        """Return what is asked for at this moment."""
        return self.signals.now(self.clock.now_s())


def test_an_event_is_in_force_on_a_controller_within_the_poll() -> None:
    """After the poll the controller's limit is the event's and no job is started above it; cancelled, jobs go on."""
    vtn = Vtn(free_port())
    world = World(cluster(8), policies(select="easy"))
    grid = Grid(vtn.port)
    world.controller.signals = grid
    limits: list[float] = []
    world.controller.on_tick = lambda tick: limits.append(tick.limit_w)
    try:
        world.run(2.0)
        assert limits[-1] == BASE_W
        vtn.add("dr-1", ("LOAD_CONTROL", "x-loadControlCapacity"), 0.5)
        assert soon(lambda: grid.now(0.0).limit_w == BASE_W / 2, 3.0)
        for k in range(8):
            world.submit(f"j{k}", 1, 60.0, 0.0, request_s=120.0)
        world.run(20.0)
        assert limits[-1] == BASE_W / 2
        assert 0 < sum(world.machine.node_w().values()) <= BASE_W / 2
        waiting = sum(job.seen.phase == "waiting" for job in world.machine.jobs.values())
        assert waiting > 0
        vtn.cancel("dr-1")
        assert soon(lambda: grid.now(0.0).limit_w == BASE_W)
        world.run(5.0)
        assert limits[-1] == BASE_W
        assert sum(world.machine.node_w().values()) > BASE_W / 2
    finally:
        grid.signals.close()
        vtn.close()
