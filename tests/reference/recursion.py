"""The service-rate model as its paper's recursion, literally: one event at a time, plain Python, any kind of number.

Numbers may be floats or ``fractions.Fraction`` (then every epoch is exact and ties are real ties). Customers are
labelled 0, 1, … in order of arrival; lists are per customer or per epoch, as the field says.

Choices where the text is silent, contradicts itself or needs correction:

* *Start.* Before the first arrival the system is empty at r_L. The first arrival is an event like any other: it throws
  its coin, may exceed k_H = 0 and may lift W above k_H. T_1 = t_1 need not be 0.
* *End.* The run ends when the last customer has left; that last epoch has length 0, and averages (eq. 12) divide by
  T_last − T_1. Eq. 12 holds each W_i over its epoch; ``mean_workload`` integrates its fall instead.
* *Ties.* At one instant: departures (smallest remaining amount, then smallest label), then arrivals (by label), then
  the switching event; each is an epoch of its own with a selection and a switching decision, τ = 0 between them.
* *δ (departure)* is the argmin of the remaining amounts, removed by name, so rounding never leaves a crumb behind.
* *Eq. 4* lowers the customers in service at T_i that are still present at T_{i+1}; waiting ones keep their amount.
* *Eq. 5, randomized*: one uniform u per arrival or departure, in order of events, taken whatever the present rate is;
  an arrival sets r_H if u < p_H, a departure sets r_L if u < p_L; otherwise the rate stays.
* *Count hysteresis*: an arrival that finds ν = k_H sets r_H (the number now exceeds k_H); a departure that leaves from
  ν = k_L + 1 sets r_L (the number is now k_L). Hence k_L = k_H = 0 serves at r_H and idles, empty, at r_L; ∞ is r_L.
* *Workload hysteresis*, after every event: W ≤ k_L sets r_L, W > k_H sets r_H, between them the rate stays; W includes
  the newcomer's whole amount. The switching event, only while R = r_H and W > k_L, comes at
  T_i + (W_i − k_L)/(R_i·|𝓜_i|), because W falls at R times the customers in service; node-weighted, W = Σ N_m B(m)
  falls at R·φ. At that event the rate becomes r_L even if rounding leaves W a hair above k_L.
* *W, ν* are over all customers present, in service or waiting (the text prints both sets with one letter).
* *FCFS, LCFS*: the longest prefix in arrival order (from the newest for LCFS) whose widths fit; nothing jumps over the
  first that does not fit. LCFS is preemptive-resume.
* *LPF, SPF*: a newcomer starts if it fits beside those in service and nobody waits; otherwise arrivals (and switching
  events) change nothing. At a departure, with the amounts after it, either the longest fitting prefix of *all* by
  remaining amount (preemptive-resume, as printed) or those in service go on and the longest fitting prefix of the
  *waiting* joins them. Equal amounts: smaller label first.
* *BF*: those in service go on; in order of arrival customers start until one, the head, does not fit. Behind it, in
  order of arrival, each one starts that fits the servers then free and has B < α(head), strictly; those that do not
  fit are passed over. α by eqs. 13–15 from the customers before the head, in job amounts (all run at one rate, so the
  rate cancels). No extra-nodes rule. Keeping the backfilled in service is what the formula means: recomputed from
  nothing at every epoch it would preempt them.
* *Energy budget* (eq. 9) counts the epochs in which the customer is in service; the same as printed unless it is
  preempted. Service time is departure − first start as printed; ``served`` leaves out time spent preempted.
* *Slowdown* = sojourn/service (the text prints the delay below the line); NaN for a service of length 0.
* *Potential load* = R·(c·1{Q > 0} + φ·1{Q = 0}); wasting (eq. 10) is the amount of the epoch, not a rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Number = Any  # int, float or Fraction: the arithmetic is the caller's
ARRIVAL, DEPARTURE, SWITCH = "A", "D", "S"
FCFS, LCFS, BF = "fcfs", "lcfs", "bf"
LPF, SPF, LPF_WAITING, SPF_WAITING = "lpf", "spf", "lpf-waiting", "spf-waiting"


@dataclass(frozen=True)
class Rates:
    """r_L < r_H and the energy per server and unit time at each, busy and idle."""

    low: Number = 1.0
    high: Number = 2.0
    busy_low: Number = 1.0
    busy_high: Number = 2.0
    idle_low: Number = 0.0
    idle_high: Number = 0.0

    def busy(self, rate: Number) -> Number:
        """e(R)."""
        return self.busy_high if rate == self.high else self.busy_low

    def idle(self, rate: Number) -> Number:
        """e_0(R)."""
        return self.idle_high if rate == self.high else self.idle_low


class Constant:
    """No control: the rate is always the one given."""

    def __init__(self, *, high: bool = False) -> None:
        self.is_high = high

    def initial(self, rates: Rates) -> Number:
        """Rate of the empty system before the first arrival."""
        return rates.high if self.is_high else rates.low

    def next_rate(self, rates: Rates, old: _State, new: _State) -> Number:
        """R_{i+1}."""
        return old.rate

    def switch_in(self, state: _State) -> Number:
        """Time from T_i to a switching event, infinite if none comes."""
        return math.inf


class Randomized(Constant):
    """Eq. 5: coins at arrivals (p_H, up) and departures (p_L, down), from a given sequence of uniforms."""

    def __init__(self, p_low: float, p_high: float, uniforms: Sequence[float]) -> None:
        super().__init__()
        self.p_low, self.p_high = p_low, p_high
        self.uniforms = iter(uniforms)

    def next_rate(self, rates: Rates, old: _State, new: _State) -> Number:
        """R_{i+1}: one uniform per arrival or departure."""
        u = next(self.uniforms)
        if new.kind == ARRIVAL and u < self.p_high:
            return rates.high
        if new.kind == DEPARTURE and u < self.p_low:
            return rates.low
        return old.rate


class CountHysteresis(Constant):
    """Section III-A: up when the number of customers exceeds k_H, down when it falls to k_L."""

    def __init__(self, k_low: float, k_high: float) -> None:
        super().__init__()
        self.k_low, self.k_high = k_low, k_high

    def next_rate(self, rates: Rates, old: _State, new: _State) -> Number:
        """R_{i+1} from the number before the event, as printed."""
        if new.kind == ARRIVAL and len(old.present) == self.k_high:
            return rates.high
        if new.kind == DEPARTURE and len(old.present) == self.k_low + 1:
            return rates.low
        return old.rate


class WorkloadHysteresis(Constant):
    """Section III-C: up when W exceeds k_H, down when W falls to k_L, which is an event of its own."""

    def __init__(self, k_low: Number, k_high: Number, *, node_weighted: bool = False) -> None:
        super().__init__()
        self.k_low, self.k_high, self.node_weighted = k_low, k_high, node_weighted

    def next_rate(self, rates: Rates, old: _State, new: _State) -> Number:
        """R_{i+1} from the workload after the event."""
        workload = new.workload(self.node_weighted)
        if new.kind == SWITCH or workload <= self.k_low:
            return rates.low
        return rates.high if workload > self.k_high else old.rate

    def switch_in(self, state: _State) -> Number:
        """(W − k_L)/(R·|𝓜|) while R = r_H and W is above k_L."""
        workload = state.workload(self.node_weighted)
        if state.rate != state.rates.high or workload <= self.k_low or not state.serving:
            return math.inf
        falling = state.busy() if self.node_weighted else len(state.serving)
        return (workload - self.k_low) / (state.rate * falling)


@dataclass
class _State:
    """{M_i; I_i; B_i; R_i} and what they belong to."""

    rates: Rates
    width: Sequence[int]
    servers: int
    time: Number
    kind: str
    label: int  # of the customer who arrived or left, −1 at a switching event
    present: list[int]  # M_i in order of arrival
    remaining: dict[int, Number]  # B_i
    serving: list[int]  # 𝓜_i
    rate: Number

    def workload(self, node_weighted: bool = False) -> Number:
        return sum((self.width[m] if node_weighted else 1) * self.remaining[m] for m in self.present)

    def busy(self) -> int:
        return sum(self.width[m] for m in self.serving)


@dataclass
class Run:
    """All measures: per customer (label order), per epoch (time order), and averages over time."""

    servers: int
    rates: Rates
    width: list[int]
    arrival: list[Number]
    start: list[Number] = field(default_factory=list)
    departure: list[Number] = field(default_factory=list)
    served: list[Number] = field(default_factory=list)
    energy_budget: list[Number] = field(default_factory=list)
    epoch: list[Number] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    rate: list[Number] = field(default_factory=list)
    workload: list[Number] = field(default_factory=list)
    weighted_workload: list[Number] = field(default_factory=list)
    customers: list[int] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    in_service: list[int] = field(default_factory=list)

    @property
    def delay(self) -> list[Number]:
        """Time from arrival to first start."""
        return [s - a for s, a in zip(self.start, self.arrival, strict=True)]

    @property
    def sojourn(self) -> list[Number]:
        """Time from arrival to departure."""
        return [d - a for d, a in zip(self.departure, self.arrival, strict=True)]

    @property
    def service(self) -> list[Number]:
        """Time from first start to departure."""
        return [d - s for d, s in zip(self.departure, self.start, strict=True)]

    @property
    def slowdown(self) -> list[Number]:
        """Sojourn time divided by service time."""
        return [a / b if b > 0 else math.nan for a, b in zip(self.sojourn, self.service, strict=True)]

    @property
    def tau(self) -> list[Number]:
        """Length of each epoch, the last one 0."""
        return [b - a for a, b in zip(self.epoch, [*self.epoch[1:], self.epoch[-1]], strict=True)]

    @property
    def potential_load(self) -> list[Number]:
        """Job completion rate if waiting customers could use every server."""
        return [r * (self.servers if q > 0 else f) for r, q, f in zip(self.rate, self.queue, self.busy, strict=True)]

    @property
    def effective_load(self) -> list[Number]:
        """Job completion rate of the busy servers."""
        return [r * f for r, f in zip(self.rate, self.busy, strict=True)]

    @property
    def wasting(self) -> list[Number]:
        """Eq. 10: job amount not done in each epoch by servers idle while somebody waits."""
        return [(p - e) * t for p, e, t in zip(self.potential_load, self.effective_load, self.tau, strict=True)]

    @property
    def power(self) -> list[Number]:
        """Eq. 11: energy per unit time in each epoch."""
        return [
            f * self.rates.busy(r) + (self.servers - f) * self.rates.idle(r)
            for f, r in zip(self.busy, self.rate, strict=True)
        ]

    @property
    def duration(self) -> Number:
        """T of eq. 12."""
        return self.epoch[-1] - self.epoch[0]

    @property
    def mean_workload(self) -> Number:
        """W averaged over time exactly: between events it falls at R times the customers in service."""
        columns = zip(self.tau, self.workload, self.rate, self.in_service, strict=True)
        return sum(t * (w - r * n * t / 2) for t, w, r, n in columns) / self.duration

    def time_average(self, values: Sequence[Number]) -> Number:
        """Eq. 12 for any per-epoch measure that is a rate or a level (not for ``wasting``, an amount)."""
        return sum(t * v for t, v in zip(self.tau, values, strict=True)) / self.duration


def simulate(
    arrival: Sequence[Number],
    amount: Sequence[Number],
    width: Sequence[int],
    servers: int,
    *,
    rates: Rates | None = None,
    discipline: str = FCFS,
    switching: Constant | None = None,
) -> Run:
    """Run the recursion until the last customer has left."""
    rates, switching = rates or Rates(), switching or Constant()
    run = Run(servers, rates, list(width), list(arrival))
    n = len(run.arrival)
    run.start, run.departure, run.served, run.energy_budget = [None] * n, [None] * n, [0] * n, [0] * n
    state = _State(rates, width, servers, arrival[0], "", -1, [], {}, [], switching.initial(rates))
    arrived = 0
    while arrived < n or state.present:
        new = _next_state(state, arrival, amount, arrived, switching.switch_in(state))
        arrived += new.kind == ARRIVAL
        new.serving = _select(discipline, state, new)
        new.rate = switching.next_rate(rates, state, new)
        _account(run, state, new)
        state = new
    return run


def _next_state(
    old: _State, arrival: Sequence[Number], amount: Sequence[Number], arrived: int, switch_in: Number
) -> _State:
    """Eqs. 2–4: the next epoch, who is present, how much remains."""
    first = min(old.serving, key=lambda m: (old.remaining[m], m), default=-1)
    departs = old.time + old.remaining[first] / old.rate if first >= 0 else math.inf
    arrives = arrival[arrived] if arrived < len(arrival) else math.inf
    switches = old.time + switch_in
    time = max(old.time, min(departs, arrives, switches))
    if departs <= min(arrives, switches):
        kind, label = DEPARTURE, first
    elif arrives <= switches:
        kind, label = ARRIVAL, arrived
    else:
        kind, label = SWITCH, -1
    present = [m for m in old.present if not (kind == DEPARTURE and m == label)]
    done, served = (time - old.time) * old.rate, set(old.serving)
    remaining = {m: old.remaining[m] - (done if m in served else 0) for m in present}
    if kind == ARRIVAL:
        present.append(label)
        remaining[label] = amount[label]
    return _State(old.rates, old.width, old.servers, time, kind, label, present, remaining, [], old.rate)


def _account(run: Run, old: _State, new: _State) -> None:
    """Close the epoch that ends at the new state (times served, energy) and open the next."""
    tau = new.time - old.time
    for m in old.serving:
        run.served[m] += tau
        run.energy_budget[m] += run.width[m] * run.rates.busy(old.rate) * tau
    for m in new.serving:
        if run.start[m] is None:
            run.start[m] = new.time
    if new.kind == DEPARTURE:
        run.departure[new.label] = new.time
    run.epoch.append(new.time)
    run.kind.append(new.kind)
    run.label.append(new.label)
    run.rate.append(new.rate)
    run.workload.append(new.workload())
    run.weighted_workload.append(new.workload(node_weighted=True))
    run.customers.append(len(new.present))
    run.queue.append(len(new.present) - len(new.serving))
    run.busy.append(new.busy())
    run.in_service.append(len(new.serving))


def _select(discipline: str, old: _State, new: _State) -> list[int]:
    """Eq. 1 and its replacements: who is in service from the new epoch on."""
    if discipline == FCFS:
        return _prefix(new, new.present, new.servers)
    if discipline == LCFS:
        return _prefix(new, new.present[::-1], new.servers)
    if discipline == BF:
        return _backfill(old, new)
    sign = {LPF: -1, LPF_WAITING: -1, SPF: 1, SPF_WAITING: 1}[discipline]
    return _by_amount(old, new, sign, preemptive=discipline in (LPF, SPF))


def _prefix(state: _State, order: Sequence[int], free: int) -> list[int]:
    """Longest prefix of ``order`` whose widths fit into ``free`` servers."""
    chosen: list[int] = []
    for m in order:
        if state.width[m] > free:
            break
        chosen.append(m)
        free -= state.width[m]
    return chosen


def _by_amount(old: _State, new: _State, sign: int, *, preemptive: bool) -> list[int]:
    staying = [m for m in old.serving if m in new.remaining]
    free = new.servers - sum(new.width[m] for m in staying)
    if new.kind == SWITCH:
        return staying
    if new.kind == ARRIVAL:
        nobody_waits = len(staying) == len(new.present) - 1
        return [*staying, new.label] if nobody_waits and new.width[new.label] <= free else staying
    order = sorted(new.present, key=lambda m: (sign * new.remaining[m], m))
    if preemptive:
        return _prefix(new, order, new.servers)
    return staying + _prefix(new, [m for m in order if m not in staying], free)


def _backfill(old: _State, new: _State) -> list[int]:
    chosen = [m for m in old.serving if m in new.remaining]
    free = new.servers - sum(new.width[m] for m in chosen)
    waiting = [m for m in new.present if m not in chosen]
    in_order = _prefix(new, waiting, free)
    chosen += in_order
    free -= sum(new.width[m] for m in in_order)
    if len(waiting) == len(in_order):
        return chosen
    head = waiting[len(in_order)]
    alpha = head_start_amount(new, head)
    for m in waiting[len(in_order) + 1 :]:
        if new.width[m] <= free and new.remaining[m] < alpha:
            chosen.append(m)
            free -= new.width[m]
    return chosen


def head_start_amount(state: _State, head: int) -> Number:
    """Eqs. 13–15: amount to be done before the head may start, the customers before it served in order."""
    load: list[Number] = [0] * state.servers
    for m in state.present[: state.present.index(head)]:
        n = state.width[m]
        load = sorted([load[n - 1] + state.remaining[m]] * n + load[n:])
    return load[state.width[head] - 1]
