"""The workload of the Karelian Research Centre's cluster in the layouts of the R package hpcwld, as a trace.

``HPC_KRC.csv`` (interarrival, service, cores_requested, cores_used, delays; 8,281 tasks) and ``HPC_KRC2.csv``
(interarrival, delays, service, cores_used; 9,389 tasks), in seconds. The interarrival time of a record is the time
*from* its arrival *to* the next one: read so, with the cores used, hpcwld's own delays on 80 cores come out exactly.

The cleaning is the recursion paper's (§IV), as far as its text goes: records without cores or service are dropped,
negative interarrival times become 0, and customers that arrive together are set 1 to 10 ms apart. hpcwld itself
computes on the raw records: ``drop_zero_service=False, spread_ties=False``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from wattline.arrays import Floats, Ints
from wattline.errors import InputError, TraceError, did_you_mean
from wattline.reading.delimited import Delimited
from wattline.reading.fields import MAX_WHOLE, numbers
from wattline.reading.long_rows import AT_ONCE
from wattline.reading.notes import Finding, Trace, build_jobs, listed, refuse_empty, settle
from wattline.reading.pieces import Pieces
from wattline.reading.rows import kept

if TYPE_CHECKING:
    import polars as pl

Mask = npt.NDArray[np.bool_]

CORES = 80
"""Size of the cluster."""

COLUMNS = ("interarrival", "service", "cores_used", "cores_requested", "delays")
_EXTRA = ("i", "delay_observed", "delay_model", "total_cores")
_DELAYS = ("delays", "delay_observed")
_TIE_S = (0.001, 0.010)


def read_krc(
    path: Path | str,
    *,
    amount_factor: float = 1.0,
    seed: int = 1,
    drop_zero_service: bool = True,
    spread_ties: bool = True,
    keep_gaps: bool = True,
    cores: Literal["used", "requested"] = "used",
    strict: bool = False,
) -> Trace:
    """Read a KRC table; ``job_id`` is the record's number in the raw file, from 1.

    ``amount_factor`` turns recorded seconds into job amounts (2.66: the log ran at that many GHz). ``keep_gaps``: other
    customers still arrive when they did after a record is dropped; False forgets its interarrival time as well.
    """
    if not amount_factor > 0:
        raise InputError(f"amount_factor must be positive (got {amount_factor})")
    table = Delimited(path, ",")
    wanted = ("interarrival", "service", f"cores_{cores}")
    read = table.read(lambda: _Columns((*wanted, *_DELAYS))).pieces
    _check_columns(table, f"cores_{cores}")
    gap, service, size = (read.take(name) for name in wanted)
    findings = [*table.wrong, *table.said]
    keep = _keep(table, findings, gap, service, size, f"cores_{cores}", drop_zero_service=drop_zero_service)
    work = kept(service, keep)
    del service
    nodes = kept(size, keep).astype(np.int64)
    del size
    submit = _arrivals(table, findings, gap, keep, seed if spread_ties else None, keep_gaps=keep_gaps)
    del gap
    notes = settle(path, findings, strict=strict)
    if not keep.any():
        raise refuse_empty(path, table.records, notes)
    work *= amount_factor
    jobs = build_jobs(
        path,
        job_id=_row_numbers(table, keep),
        submit_s=submit,
        work_s=work,
        nodes=nodes,
        recorded_wait_s=kept(_delays(table, read), keep),
    )
    return Trace(jobs, notes, str(path), {"Computer": "KRC RAS cluster"}, CORES, table.records)


class _Columns:
    """Columns of numbers, as a table is read."""

    def __init__(self, wanted: tuple[str, ...]) -> None:
        self._wanted = wanted
        self.pieces = Pieces()

    def __call__(self, frame: pl.DataFrame) -> None:
        for name in frame.columns:
            if name in self._wanted:
                self.pieces.add(name, numbers(frame[name].str.strip_chars()))


def _check_columns(table: Delimited, cores: str) -> None:
    names = table.names
    for name in ("interarrival", "service", cores):
        if name not in names:
            raise TraceError.at(table.path, f"column {name!r} is missing: found {listed(names)}", line=1)
    for name in names:
        if name not in COLUMNS + _EXTRA:
            raise TraceError.at(
                table.path, f"unknown column{did_you_mean(name[:60], COLUMNS)}", line=1, field=name[:60]
            )


def _keep(
    table: Delimited,
    findings: list[Finding],
    gap: Floats,
    service: Floats,
    size: Floats,
    cores: str,
    *,
    drop_zero_service: bool,
) -> Mask:
    """Return which records are customers; each other one is counted once."""
    keep = np.ones(gap.size, dtype=np.bool_)
    reasons: list[tuple[str, Mask, str]] = [
        ("malformed: interarrival is not a number", np.isnan(gap), "interarrival"),
        ("malformed: service is not a time", ~(service >= 0), "service"),
        ("no cores", ~(size > 0), cores),
        ("malformed: cores are not whole", (size != np.floor(size)) | (size >= MAX_WHOLE), cores),
    ]
    if drop_zero_service:
        reasons.append(("no service", service == 0, "service"))
    for reason, hit, column in reasons:
        found = table.finding("dropped", reason, hit & keep, column)
        if found is not None:
            findings.append(found)
        keep &= ~hit
    return keep


def _arrivals(
    table: Delimited, findings: list[Finding], gap: Floats, keep: Mask, seed: int | None, *, keep_gaps: bool
) -> Floats:
    """Return the arrival times of the kept records, the first at 0."""
    back = table.finding("repaired", "negative interarrival time: set to 0", gap < 0, "interarrival")
    gap[~(gap > 0)] = 0.0  # in place, as all that follows: there may be very many
    if keep_gaps:
        arrival = np.zeros(gap.size)
        np.cumsum(gap[:-1], out=arrival[1:])
        arrival = kept(arrival, keep)
        between = np.subtract(arrival[1:], arrival[:-1], out=gap[: max(arrival.size - 1, 0)])
    else:
        between = kept(gap, keep)[:-1]
        arrival = np.empty(np.count_nonzero(keep))
    # Zero gaps belong to the record before them, as in the file.
    tied = np.zeros(gap.size, dtype=np.bool_)
    tied[keep] = np.append(between == 0, False)[: arrival.size]
    if seed is not None and between.size:
        _spread(between, seed)
        together = table.finding("repaired", "arrives with the next: set 1 to 10 ms apart", tied, "interarrival")
    else:
        together = table.finding("kept", "arrives with the next", tied, "interarrival")
    findings.extend(found for found in (back, together) if found is not None)
    arrival[:1] = 0.0
    np.cumsum(between, out=arrival[1:])
    return arrival


def _spread(between: Floats, seed: int) -> None:
    """Set those that arrive together apart."""
    random = np.random.Generator(np.random.Philox(seed))
    for begin in range(0, between.size, AT_ONCE):
        part = between[begin : begin + AT_ONCE]
        part[...] = np.where(part == 0, random.uniform(*_TIE_S, size=part.size), part)


def _row_numbers(table: Delimited, keep: Mask) -> Ints:
    """Number records by their place in the file; the header line is not counted."""
    numbered = kept(table.lines, keep).astype(np.int64)
    numbered -= 1
    return numbered


def _delays(table: Delimited, read: Pieces) -> Floats:
    for name in _DELAYS:
        if name in table.names:
            delay: Floats = read.take(name)
            delay[~(delay >= 0)] = np.nan
            return delay
    return np.full(table.lines.size, np.nan)
