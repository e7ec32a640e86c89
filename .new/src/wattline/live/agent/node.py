"""One node: power is read, a server cap becomes a package limit, and whatever goes wrong has a word."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wattline.errors import InputError
from wattline.live.agent.beside import Beside
from wattline.live.agent.config import NodeSettings
from wattline.live.agent.lease import Cap, Lease, Mode
from wattline.live.agent.local import Local
from wattline.live.agent.saved import Lock, Saved
from wattline.live.power.base import Hardware, HardwareError, Reading
from wattline.live.power.server.pid import Followed, Pid

Log = Callable[..., None]
"""Called with a word for what happened and, by name, what is known about it."""

OLD_S = 10.0
"""A reading that is older is not told any more."""
FAULT_PERIODS = 3.0
"""A fault stays in the status for so many periods, so that one lost message does not hide it."""
SAME_W = 0.05
"""A limit is not written again for less."""
CHANGED_W = 1.0
"""A limit that differs by more from what was read back after the write was changed by somebody else."""
UNUSED_W, UNUSED = 2.0, 0.05
"""Processors that draw less than their limit by this, and by this part of it, are not held by it."""
STATUS_FAULTS = 16


def phase_s(name: str, period_s: float) -> float:
    """Return at which part of a period a node takes its turn: by its name, so that nodes are spread evenly."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) / 2**48 * period_s


class NodeAgent:
    """The agent of one node. It writes a limit only after what it found is safe on disk.

    Parameters
    ----------
    settings
        What the node's file says.
    hardware
        Its meters and limits.
    beside
        Its GPUs and a second meter; none: there are none.
    local
        Who continues stopped jobs; None: nobody.
    log
        Where it says what happens.
    """

    def __init__(
        self,
        settings: NodeSettings,
        hardware: Hardware,
        *,
        beside: Beside | None = None,
        local: Local | None,
        log: Log,
    ) -> None:
        self._beside = beside if beside is not None else Beside()
        self.settings, self.hardware, self._local, self._log = settings, hardware, local, log
        self.name = settings.name
        self.lease = Lease(
            safe_w=settings.safe_w,
            min_w=settings.min_w,
            max_w=settings.max_w,
            longest_s=settings.longest_lease_s,
            mode="free" if settings.starts_free else "safe",
        )
        self.counts: Counter[str] = Counter()
        """How often each thing went wrong that is not the hardware's."""
        self._lock = Lock(settings.run_dir, settings.name, "" if hardware.whole_server else settings.powercap)
        self._saved = Saved(settings.run_dir, settings.name)
        self._found: dict[str, float] | None = None
        self._pid = Pid(settings.gains, *hardware.bounds_w(), reach=settings.reach_w, target_weight=1.0)
        self._target, self._limit = Followed(settings.lag_s), Followed(settings.lag_s)
        self._output_w = self._limit_w = self._told_limit_w = math.nan
        self._reading: Reading | None = None
        self._server_w, self._server_s = math.nan, -math.inf
        self._gpu_w = 0.0
        self._apart_s = math.nan
        self._memory_w = settings.memory_w
        self._was = (False, False)
        self._seen: Counter[str] = Counter()
        self._fault_s: dict[str, float] = {}
        self._next_s = self._began_s = -math.inf

    # ------------------------------------------------------------------ begin and end

    def begin(self, now_s: float) -> None:
        """Take over: safe cap at once, or (``start = "free"``) nothing until a cap comes; after a crash always safe."""
        try:
            self._found = self._saved.load()
        except InputError as problem:
            self._log("save-unreadable", node=self.name, problem=str(problem), aside=str(self._saved.set_aside()))
            self.counts["save-unreadable"] += 1
            self._found = self.hardware.loosest() | self._beside.loosest()
            self._saved.save(self._found, now_s)
        if self._found is not None:
            self.lease.mode = "safe"
            self.counts["recovered"] += 1
            self._log("recovered", node=self.name, found=self._found, continued=self._continue())
        self._limit_w = self.hardware.limits_w()
        self._began_s = now_s
        self.hardware.read(now_s)
        self._schedule(now_s)
        self._keep_found(now_s)
        self._retarget(now_s)
        self._log("began", node=self.name, mode=self.lease.mode, limit_w=_plain(self._limit_w))

    def end(self, now_s: float) -> bool:
        """Put back what was found and let go of the node (an orderly stop); tell whether all could be put back."""
        restored = self._restore(now_s)
        self.lease.release()
        self.let_go()
        self._log("ended", node=self.name, restored=restored)
        return restored

    def let_go(self) -> None:
        """Let another agent lead the node, which stays as it is."""
        self._beside.close()
        self.hardware.close()
        self._lock.release()

    def _restore(self, now_s: float) -> bool:
        if self._found is None:
            return True
        try:
            self._beside.restore(self._found, self.hardware)
        except HardwareError as problem:
            if "restore-failed" not in self._fault_s:
                self._log("restore-failed", node=self.name, problem=str(problem))
            self.note("restore-failed", now_s)
            return False  # the save file stays, for the next who tries
        self._saved.remove()
        self._found = None
        self._limit_w = self.hardware.limits_w()
        self._log("restored", node=self.name, limit_w=_plain(self._limit_w), at=round(now_s, 3))
        return True

    # ------------------------------------------------------------------ what it is told

    def take(self, cap: Cap, now_s: float) -> bool:
        """Put a cap in force at once; tell whether it was taken."""
        before: tuple[Mode, float] = (self.lease.mode, self.lease.cap_w())
        taken, word = self.lease.take(cap, now_s)
        if word:
            self.note(word, now_s)
        if taken and before != (self.lease.mode, self.lease.cap_w()):
            if before[0] != "led":
                self._log("led", node=self.name, cap_w=_plain(self.lease.cap_w()), term=cap.term)
            self._retarget(now_s)
        return taken

    def off(self, now_s: float) -> None:
        """Release the node: what was found is put back, and only a controller with a higher term can lead again."""
        self.lease.release()
        self._log("off", node=self.name, continued=self._continue())
        self._retarget(now_s)
        self._restore(now_s)

    # ------------------------------------------------------------------ time

    def due_s(self) -> float:
        """Return when it wants its next turn: once a period, and when its lease ends."""
        return min(self._next_s, self.lease.until_s)

    def turn(self, now_s: float) -> bool:
        """Take a turn; tell whether it is time for a status."""
        if self.lease.expire(now_s):
            self.note("lease-ended", now_s)
            self._log("lease-ended", node=self.name, safe_w=self.lease.safe_w, continued=self._continue())
            self._retarget(now_s)
        period_s = self.settings.period_s
        if self._next_s - 2.0 * period_s <= now_s < self._next_s:
            return False
        self._schedule(now_s)
        self._control(now_s)
        self._notice(now_s)
        return True

    def _schedule(self, now_s: float) -> None:
        period_s = self.settings.period_s
        at_s = phase_s(self.name, period_s)
        self._next_s = (math.floor((now_s - at_s) / period_s) + 1.0) * period_s + at_s

    # ------------------------------------------------------------------ control

    def _control(self, now_s: float) -> None:
        reading = self.hardware.read(now_s)
        target_w, limit_w = self._target.mean(now_s), self._limit.mean(now_s)
        server_w = self._measure(reading, now_s)
        if self.lease.mode == "free":
            if self._found is not None:
                self._restore(now_s)  # what could not be put back before
            self._limit_w = self.hardware.limits_w()
            return
        if self._found is None:
            self._limit_w = self._told_limit_w = self.hardware.limits_w()
            self._retarget(now_s)
            return
        self._limit_gpus(now_s)
        if self.hardware.whole_server:
            self._keep_server(now_s)
            return
        in_force_w = self.hardware.limits_w()
        changed = not abs(in_force_w - self._limit_w) <= CHANGED_W
        if changed:
            self.note("clamped" if math.isfinite(in_force_w) else "no-limit", now_s)
        held, over, beyond_w = self._near(reading, limit_w)
        (was_held, was_over), self._was = self._was, (held, over)  # a job that starts is held for a part of a period
        self._output_w = self._pid.step(
            now_s,
            target_w,
            server_w - beyond_w,
            lead=self._lead_w(),
            may_rise=held and was_held,
            may_fall=in_force_w <= self._output_w + CHANGED_W and (was_over if over else was_held or not held),
        )
        self._write(now_s, in_force_w, changed=changed)

    def _measure(self, reading: Reading | None, now_s: float) -> float:
        """Note what the meters say; return the power of the server that is believed, NaN where nothing is new."""
        model, server_w = self.settings.model, math.nan
        second_w, gpu_w = self._beside.second_w(now_s), self._beside.gpu_w()
        self._gpu_w = gpu_w if math.isfinite(gpu_w) else self._gpu_w
        if reading is not None:
            reading = replace(reading, gpu_w=gpu_w)
            metered = math.isfinite(reading.server_w)
            if math.isfinite(reading.memory_w):
                self._memory_w = reading.memory_w
            elif model.phi_2 and not metered:
                self._memory_w = self.settings.memory_w
                self.note("memory-assumed", now_s)
            server_w = reading.server_w
            if not metered:
                server_w = model.server_w(reading.cpu_w, self._memory_w) + self._beside.phi * reading.gpu_w
            self._reading = reading
            server_w = self._beside.believed_w(now_s, server_w, second_w)
        elif min(self._age_s(now_s), now_s - self._began_s) > self._slow_s:
            self.note("blind", now_s)
            self._pid.distrust()
            self._memory_w = self.settings.memory_w
            server_w = second_w
        if self._beside.disagree:
            self.note("meters-disagree", now_s)
        if math.isfinite(server_w):
            self._server_w, self._server_s = server_w, now_s if reading is None else reading.time_s
        return server_w

    @property
    def _slow_s(self) -> float:
        """Time without a reading or a limit after which that is a fault."""
        return FAULT_PERIODS * max(self.settings.period_s, self.hardware.every_s)

    def _limit_gpus(self, now_s: float) -> None:
        """Give GPUs their part of the cap, and say where those that are not limited leave nothing of it."""
        cap_w, model, bounds_w = self.lease.cap_w(), self.settings.model, self.hardware.bounds_w()
        if not self.hardware.whole_server and self._beside.gpus is not None and math.isfinite(cap_w):
            self._beside.limit_gpus(cap_w, model, self._memory_w, bounds_w)
            if model.server_w(bounds_w[0], self._memory_w) + self._beside.phi * self._gpu_w > cap_w:
                self.note("gpu-over-cap", now_s)

    def _keep_server(self, now_s: float) -> None:
        """Bring the cap into force as the limit of the whole server: the hardware has a loop of its own."""
        least_w, most_w = self.hardware.bounds_w()
        wanted_w = min(max(self.lease.cap_w(), least_w), most_w)
        in_force_w, step_w = self.hardware.limits_w(), self.hardware.step_w
        if wanted_w != self._output_w or not abs(in_force_w - wanted_w) <= step_w:
            in_force_w = self.hardware.set_limit(wanted_w)
        self._output_w = wanted_w
        self._limit_w = self._told_limit_w = in_force_w
        if abs(in_force_w - wanted_w) <= step_w:
            self._apart_s = math.nan
        elif not self._apart_s <= now_s:
            self._apart_s = now_s
        elif now_s - self._apart_s > self._slow_s:
            self.note("clamped" if math.isfinite(in_force_w) else "no-limit", now_s)

    def _near(self, reading: Reading | None, limit_w: float) -> tuple[bool, bool, float]:
        """Tell whether processors draw what their limit allows, whether they draw more, which they cannot for long, and
        by how many watts of the server.

        Counters that are brought up to date now and then show too little in one period and too much in the next. What
        is too little is not made up for, since nobody may be using it; if all that is too much counted, limits would
        sink.
        """
        if reading is None:
            return False, False, 0.0
        slack_w = max(UNUSED_W, UNUSED * limit_w)
        beyond_w = reading.cpu_w - (limit_w + slack_w)
        metered = math.isfinite(reading.server_w)
        told_w = self.settings.model.phi_1 * beyond_w if beyond_w > 0.0 and not metered else 0.0
        return reading.cpu_w >= limit_w - slack_w, beyond_w > 0.0, told_w

    def _retarget(self, now_s: float) -> None:
        """Bring a changed cap into force at once, by the model and what the PID has learned about it."""
        cap_w = self.lease.cap_w()
        self._target.set(now_s, cap_w)
        if math.isnan(cap_w):
            self._limit.set(now_s, math.nan)
            self._pid.reset()
            return
        try:
            self._keep_found(now_s)
        except OSError as problem:
            if "save-failed" not in self._fault_s:
                self._log("save-failed", node=self.name, problem=str(problem))
            self.note("save-failed", now_s)
            return  # nothing is changed that could not be put back; the next turn tries again
        self._limit_gpus(now_s)
        if self.hardware.whole_server:
            self._keep_server(now_s)
            return
        self._output_w = self._pid.held(self._lead_w())
        self._write(now_s, self._limit_w, changed=False)

    def _keep_found(self, now_s: float) -> None:
        """Bring what was found to the disk before a limit is changed."""
        if self._found is None and self.lease.mode != "free":
            found = self.hardware.found() | self._beside.found()
            self._saved.save(found, now_s)
            self._found = found

    def _lead_w(self) -> float:
        """Return what the processors may draw by the model: what GPUs draw is taken from the cap first."""
        return self.settings.model.cpu_w(self.lease.cap_w() - self._beside.phi * self._gpu_w, self._memory_w)

    def _write(self, now_s: float, in_force_w: float, *, changed: bool) -> None:
        """Write the limit where it is not in force. One that somebody changed meanwhile is what is told this time."""
        wrote = not abs(in_force_w - self._output_w) <= SAME_W
        read_back_w = self.hardware.set_limit(self._output_w) if wrote else in_force_w
        self._limit.set(now_s, read_back_w)
        self._limit_w = read_back_w
        self._told_limit_w = in_force_w if changed else read_back_w

    def _continue(self) -> int:
        return self._local.continue_all(self.name) if self._local is not None else 0

    # ------------------------------------------------------------------ what it tells

    def note(self, word: str, now_s: float) -> None:
        """Count a fault; it is in the next statuses."""
        self.counts[word] += 1
        if word not in self._fault_s:
            self._log("fault", node=self.name, fault=word)
        self._fault_s[word] = now_s

    def _notice(self, now_s: float) -> None:
        """Note the faults of the hardware that are new since the last time, and forget old ones."""
        for word, count in self._hardware_problems().items():
            if count > self._seen[word]:
                self._seen[word] = count
                if word not in self._fault_s:
                    self._log("fault", node=self.name, fault=word)
                self._fault_s[word] = now_s
        old_s = self._slow_s
        for word in [word for word, at_s in self._fault_s.items() if not -old_s <= now_s - at_s <= old_s]:
            del self._fault_s[word]
            self._log("fault-over", node=self.name, fault=word)

    def _age_s(self, now_s: float) -> float:
        return math.inf if self._reading is None else now_s - self._reading.time_s

    def _hardware_problems(self) -> Counter[str]:
        return Counter(self.hardware.problems()) + Counter(self._beside.problems())

    def problems(self) -> dict[str, int]:
        """Return how often each thing went wrong, the hardware's faults included."""
        return dict(self.counts + self._hardware_problems())

    def more(self, now_s: float) -> dict[str, float]:
        """Return what a status does not tell: power of the GPUs and of the server by a second meter (NaN: none)."""
        gpu_w = self._gpu_w if self._beside.gpus is not None else math.nan
        return {"gpu_w": gpu_w, "second_w": self._beside.second_w(now_s)}

    def status(self, now_s: float) -> dict[str, Any]:
        """Return the body of a status."""
        settings, lease, reading = self.settings, self.lease, self._reading
        age_s, known_s = self._age_s(now_s), now_s - self._server_s
        fresh = reading is not None and age_s <= OLD_S
        limit_w = self._limit_w if lease.mode == "free" else self._told_limit_w
        return {
            "w": _plain(self._server_w) if known_s <= OLD_S else None,
            "age": round(max(known_s, 0.0), 3) if math.isfinite(known_s) else None,
            "cpu_w": _plain(reading.cpu_w) if fresh and reading is not None else None,
            "mem_w": _plain(reading.memory_w) if fresh and reading is not None else None,
            "cap_w": _plain(lease.cap_w()),
            "limit_w": _plain(limit_w),
            "lease": round(lease.left_s(now_s), 3),
            "mode": lease.mode,
            "term": lease.term,
            "faults": sorted(self._fault_s)[:STATUS_FAULTS],
            "safe_w": settings.safe_w,
            "min_w": settings.min_w,
            "max_w": settings.max_w,
        }


def _plain(value: float) -> float | None:
    """Return a number as JSON can have it."""
    return round(value, 3) if math.isfinite(value) else None
