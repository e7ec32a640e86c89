"""The table of all metrics: names, kinds, labels and meanings, from which everything about them is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from wattline.live.machine.base import Phase
from wattline.live.signals.stale import STATES

Who = Literal["controller", "agent"]
NODE_MODES = ("led", "safe", "free", "silent")
"""led: follows our caps · safe: its lease is over, it keeps its safe cap · free: no cap · silent: not heard of."""
PHASES: tuple[str, ...] = get_args(Phase)
_QUICK = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_DISK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True)
class Metric:
    """One metric. ``words`` are the values of its label, where they are known beforehand."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    who: tuple[Who, ...]
    meaning: str
    label: str = ""
    words: tuple[str, ...] = ()
    buckets: tuple[float, ...] = field(default=())


_C: tuple[Who, ...] = ("controller",)
_A: tuple[Who, ...] = ("agent",)
_BOTH: tuple[Who, ...] = ("controller", "agent")

TABLE: tuple[Metric, ...] = (
    Metric("wattline_build_info", "gauge", _BOTH, "1, with the version that runs.", "version"),
    Metric("wattline_target_watts", "gauge", _C, "Power that the signal asks for."),
    Metric("wattline_limit_watts", "gauge", _C, "Power limit in force: of the site, of load targets, pushed."),
    Metric("wattline_measured_power_watts", "gauge", _C, "Power of all nodes as their agents report it."),
    Metric("wattline_modelled_power_watts", "gauge", _C, "Power of all nodes as the model has it."),
    Metric("wattline_committed_power_watts", "gauge", _C, "Modelled power with all jobs that are about to start."),
    Metric("wattline_tracking_error_ratio", "gauge", _C, "|measured - target| as a part of the reserve."),
    Metric("wattline_signal_value", "gauge", _C, "Regulation signal that is followed, from -1 to 1; NaN: none."),
    Metric("wattline_signal_age_seconds", "gauge", _C, "Age of the signal's last good sample."),
    Metric("wattline_signal_state", "gauge", _C, "1 for the state it is in, 0 for the others.", "state", STATES),
    Metric("wattline_signal_refused_total", "counter", _C, "Samples and pushes refused, limited or ignored.", "reason"),
    Metric("wattline_vtn_age_seconds", "gauge", _C, "Time since the VTN of OpenADR has answered; NaN without one."),
    Metric("wattline_jobs", "gauge", _C, "Jobs of the resource manager, by phase.", "phase", PHASES),
    Metric("wattline_nodes", "gauge", _C, "Nodes, by mode of their agents.", "mode", NODE_MODES),
    Metric("wattline_nodes_distrusted", "gauge", _C, "Nodes whose two meters disagree: the larger reading counts."),
    Metric(
        "wattline_pass_seconds", "histogram", _C, "Time of a pass of the policies.", "pass", ("full", "cap"), _QUICK
    ),
    Metric("wattline_passes_late_total", "counter", _C, "Passes left out because the one before took too long."),
    Metric("wattline_caps_sent_total", "counter", _C, "Caps sent to agents."),
    Metric("wattline_caps_refused_total", "counter", _C, "Caps that an agent did not bring into force."),
    Metric("wattline_messages_dropped_total", "counter", _BOTH, "Messages of the bus that were dropped.", "reason"),
    Metric("wattline_reconcile_retries_total", "counter", _C, "Job commands that had to be repeated."),
    Metric("wattline_lease_term", "gauge", _BOTH, "Fencing number of the controller that leads."),
    Metric("wattline_leader", "gauge", _C, "1 if this controller leads, 0 if it stands by."),
    Metric("wattline_journal_written_bytes_total", "counter", _C, "Bytes written to the log of facts."),
    Metric("wattline_journal_fsync_seconds", "histogram", _C, "Time until facts were on disk.", "", (), _DISK),
    Metric("wattline_faults_total", "counter", _C, "Faults that were seen, by their word.", "fault"),
    Metric("wattline_node_power_watts", "gauge", _A, "Power of the whole server, estimated or metered."),
    Metric("wattline_node_second_power_watts", "gauge", _A, "Power of the whole server by a second meter; NaN: none."),
    Metric("wattline_node_gpu_watts", "gauge", _A, "Power of all GPUs that are read beside the packages; NaN: none."),
    Metric("wattline_node_cap_watts", "gauge", _A, "Server cap in force; +Inf without one."),
    Metric("wattline_node_limit_watts", "gauge", _A, "Limit of all packages, or of the server, read back."),
    Metric("wattline_node_lease_seconds", "gauge", _A, "Time left of the lease; 0 without one."),
    Metric("wattline_node_mode", "gauge", _A, "1 for the mode it is in, 0 for the others.", "mode", NODE_MODES[:3]),
    Metric("wattline_node_faults_total", "counter", _A, "Faults that were seen, by their word.", "fault"),
    Metric("wattline_node_pid_error_watts", "gauge", _A, "Server cap minus server power, as the PID sees it."),
)

BY_NAME = {metric.name: metric for metric in TABLE}


def series_names(metric: Metric) -> tuple[str, ...]:
    """Return the names under which Prometheus stores a metric."""
    if metric.kind == "histogram":
        return tuple(f"{metric.name}_{part}" for part in ("bucket", "sum", "count"))
    return (metric.name,)


def reference_markdown() -> str:
    """Return the table of docs/live/metrics.md."""
    lines = ["| metric | kind | labels | from | meaning |", "|---|---|---|---|---|"]
    for metric in TABLE:
        words = f" ({', '.join(metric.words)})" if metric.words else ""
        label = f"`{metric.label}`{words}" if metric.label else ""
        meaning = metric.meaning.replace("|", "\\|")
        lines.append(f"| `{metric.name}` | {metric.kind} | {label} | {', '.join(metric.who)} | {meaning} |")
    return "\n".join(lines)
