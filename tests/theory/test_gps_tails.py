"""θ* of every case against a numerical supremum, differences, a simulated queue and the published W4 optimum."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.regulation import Bid
from wattline.theory.gps_moments import Blocks, Bursts, GammaBatch, Gaussian, LogMgf, PerType, PoissonBatch
from wattline.theory.gps_roots import any_laws, net, poisson_gaussian
from wattline.theory.gps_tails import Decay, Flow, Theory, Types, active_servers, decay, delay_tail, to_decisions

# W4 of the published study: nodes, uncapped time and power, promised limit
W4 = {
    "mg.D.16": (1, 84, 380, 2.8),
    "sp.C.16": (1, 54, 375, 7.1),
    "is.D.32": (3, 42, 249, 5.6),
    "ep.D.64": (3, 54, 353, 3.9),
    "cg.C.4": (1, 28, 238, 4.0),
    "lu.C.28": (1, 29, 413, 6.9),
    "is.D.64": (4, 27, 287, 3.1),
    "mg.D.32": (2, 49, 378, 5.0),
}


def w4(signal: LogMgf | None = None) -> Theory:
    """Return W4 on the published machine: 36 nodes, half of them busy, 169 W idle."""
    nodes, time_s, power_w, limit = np.array(list(W4.values())).T
    rate = 0.5 * 36 / (nodes * time_s * len(W4))
    types = Types(nodes, time_s, power_w, rate, limit, np.full(len(W4), 0.1), tuple(W4))
    return Theory(types, 36, 169.0, signal or Gaussian(0.40))


@dataclass(frozen=True)
class One:
    """One type with what the theory needs of it, and servers n_μ + s·y."""

    rate_per_s: float
    work: float
    weight: float
    mean: float
    spread: float
    signal: Gaussian

    @property
    def theory(self) -> Theory:
        """The type on a large machine."""
        types = Types(*(np.array([x]) for x in (1.0, self.work, 300.0, self.rate_per_s, 5.0, 0.1)))
        return Theory(types, 1000, 100.0, self.signal)

    def decay(self) -> Decay:
        """θ* and its derivatives."""
        return decay(self.theory, Flow(self.mean, self.spread, 1.0), np.array([self.weight]))

    def with_(self, **changes: float) -> One:
        """Return a copy with some numbers changed."""
        return One(**{**self.__dict__, **changes})


@st.composite
def ones(draw: st.DrawFn, least: float = 0.3, most: float = 8.0) -> One:
    """Draw a type whose share carries ``least`` to ``most`` times its load, with signals from still to violent."""
    rate, work = 10.0 ** draw(st.floats(-4.0, 0.0)), 10.0 ** draw(st.floats(1.0, 3.5))
    mean, carried = draw(st.floats(1.0, 50.0)), draw(st.floats(least, most))
    relative, memory = draw(st.floats(0.01, 5.0)), draw(st.sampled_from([1.0, 10.0, 200.0, 1600.0]))
    return One(rate, work, carried * rate * work / mean, mean, relative * mean, Gaussian(0.4, memory_s=memory))


def numerical_supremum(
    arrivals: LogMgf, signal: LogMgf, mean: float, spread: float, weight: float, top: float
) -> float:
    """Return the supremum of eq. 9 by ever finer grids: no derivative, no root, no case."""
    grid = np.concatenate([[0.0], np.geomspace(1e-12 * top, top, 4001)])
    best = 0.0
    for _ in range(5):
        with np.errstate(over="ignore"):
            gain = net(signal, mean, spread, grid * weight)
            gain[~(arrivals.value(grid) < gain)] = -np.inf
        k = int(np.argmax(gain))
        if gain[k] == -np.inf:
            return best
        best = max(best, float(gain[k]))
        grid = np.linspace(grid[max(k - 1, 0)], grid[min(k + 1, grid.size - 1)], 401)
    return best


@settings(max_examples=150, deadline=None)
@given(ones())
def test_closed_forms_are_the_supremum(one: One) -> None:
    """In all three cases θ* is the supremum of eq. 9 that grids find, from signals that stand still to violent ones."""
    law = PoissonBatch(np.array([one.rate_per_s]), np.array([one.work]))
    top = 1.01 * max(2.0 * np.log(max(one.weight * one.mean / (one.rate_per_s * one.work), 1.01)), 0.1) / one.work
    expected = numerical_supremum(law, one.signal, one.mean, one.spread, one.weight, top)
    assert one.decay().rate_per_s[0] == pytest.approx(expected, rel=1e-7, abs=1e-13)


def test_every_case_occurs() -> None:
    """A wide share under a violent signal is Case I, a modest one Case II, one below its load Case III."""
    violent, modest = One(0.5, 10.0, 2.0, 10.0, 50.0, Gaussian(0.4)), One(0.01, 100.0, 0.15, 10.0, 2.0, Gaussian(0.4))
    assert violent.decay().case.tolist() == [1]
    assert violent.decay().rate_per_s == pytest.approx([10.0**2 / (2.0 * 20.0**2)])
    assert modest.decay().case.tolist() == [2]
    short = modest.with_(weight=0.0999)
    assert (short.decay().case.tolist(), short.decay().rate_per_s.tolist()) == ([3], [0.0])


@settings(max_examples=100, deadline=None)
@given(ones(least=1.05))
def test_the_root_is_a_root(one: One) -> None:
    """In Case II Λ_A(Θ) + Λ_B(−Θw) = 0 to the last digits, and θ* = Λ_A(Θ); in Case I it is negative."""
    found = one.decay()
    theta = float(found.at[0])
    arriving = one.rate_per_s * np.expm1(theta * one.work)
    serving = float(net(one.signal, one.mean, one.spread, np.array(theta * one.weight)))
    if found.case[0] == 2:
        assert arriving == pytest.approx(serving, rel=1e-11)
        assert found.rate_per_s[0] == pytest.approx(arriving, rel=1e-12)
    else:
        assert arriving < serving * (1 + 1e-12)
        assert found.rate_per_s[0] == pytest.approx(one.mean**2 / (2.0 * one.signal.variance * one.spread**2))


@settings(max_examples=60, deadline=None)
@given(ones(least=1.5))
def test_theta_and_its_derivatives_are_continuous_between_cases_one_and_two(one: One) -> None:
    """At the weight of eq. 41 both cases give the same θ* and the same slopes."""
    variance = one.signal.variance * one.spread**2
    border = one.mean * one.work / (variance * np.log1p(one.mean**2 / (2.0 * variance * one.rate_per_s)))
    assume(border * one.mean > 1.01 * one.rate_per_s * one.work)
    below, above = one.with_(weight=border * (1 - 1e-9)).decay(), one.with_(weight=border * (1 + 1e-9)).decay()
    assert (below.case[0], above.case[0]) == (2, 1)
    for name in ("rate_per_s", "by_mean", "by_spread"):
        assert getattr(below, name) == pytest.approx(getattr(above, name), rel=1e-6), name
    assert below.by_weight[0] * border == pytest.approx(0.0, abs=1e-6 * below.rate_per_s[0])


@settings(max_examples=60, deadline=None)
@given(ones(least=1.0, most=1.0))
def test_theta_falls_to_nothing_where_the_share_just_carries_the_load(one: One) -> None:
    """Between Cases II and III θ* is continuous: 0 at and below the border, small just above it."""
    assert one.with_(weight=one.weight * (1 - 1e-12)).decay().rate_per_s[0] == 0.0
    above = one.with_(weight=one.weight * (1 + 1e-6)).decay()
    assert above.case[0] == 2
    assert 0.0 < above.rate_per_s[0] <= 2.01e-6 * one.rate_per_s


@settings(max_examples=150, deadline=None)
@given(ones(least=1.02))
def test_derivatives_by_central_differences(one: One) -> None:
    """∂θ*/∂n_μ, ∂θ*/∂(R/D) and ∂θ*/∂w_j are what central differences say, to 1e-6."""
    found = one.decay()
    for name, derivative in (("mean", found.by_mean), ("spread", found.by_spread), ("weight", found.by_weight)):
        at = getattr(one, name)
        step = 1e-4 * at * min(1.0, one.weight * one.mean / (one.rate_per_s * one.work) - 1.0)
        moved = [one.with_(**{name: at + k * step}).decay() for k in (-2, -1, 1, 2)]
        assume(all(d.case[0] == found.case[0] for d in moved))
        low2, low, high, high2 = (d.rate_per_s[0] for d in moved)
        difference = (low2 - 8.0 * low + 8.0 * high - high2) / (12.0 * step)
        # rounding of θ* alone moves the difference by this much
        noise = 1e-13 * found.rate_per_s[0] / step
        assert derivative[0] == pytest.approx(difference, rel=1e-6, abs=noise), name


@settings(max_examples=60, deadline=None)
@given(ones(least=1.1))
def test_derivatives_by_complex_steps(one: One) -> None:
    """The same from a root followed into the complex plane: equal to 1e-9."""
    found = one.decay()
    assume(found.case[0] == 2)

    def theta_star(mean: complex, spread: complex, weight: complex) -> complex:
        x = complex(found.at[0])
        for _ in range(4):  # Newton on eq. 45 itself
            u = x * weight
            value = (
                one.rate_per_s * (np.exp(x * one.work) - 1.0) - mean * u + 0.5 * one.signal.variance * (spread * u) ** 2
            )
            slope = one.rate_per_s * one.work * np.exp(x * one.work) - mean * weight
            x -= value / (slope + one.signal.variance * (spread * weight) ** 2 * x)
        return complex(one.rate_per_s * (np.exp(x * one.work) - 1.0))

    h = 1e-30j
    point = (one.mean, one.spread, one.weight)
    for k, derivative in enumerate((found.by_mean, found.by_spread, found.by_weight)):
        moved = [x + (h if i == k else 0.0) for i, x in enumerate(point)]
        assert derivative[0] == pytest.approx(theta_star(*moved).imag / 1e-30, rel=1e-9)


def jacobian(theory: Theory, bid: Bid, weights: Floats) -> tuple[Decay, Floats, Floats, Floats]:
    """Return θ* and its derivatives by P̄, R and w: one row a type."""
    flow = active_servers(theory, bid, weights)
    found = decay(theory, flow, weights)
    rows = [
        to_decisions(
            theory, flow, found.by_mean[j], found.by_spread[j], found.by_weight * (np.arange(weights.size) == j)
        )
        for j in range(weights.size)
    ]
    return found, np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), np.array([r[2] for r in rows])


@pytest.mark.parametrize("signal", [Gaussian(0.4), Gaussian.correlated(0.4, 200.0)], ids=["paper", "corrected"])
@pytest.mark.parametrize(("mean_w", "reserve_w"), [(9500.0, 1500.0), (10400.0, 3000.0), (11500.0, 5000.0)])
def test_derivatives_by_the_decisions_are_the_written_formulas(
    signal: Gaussian, mean_w: float, reserve_w: float
) -> None:
    """By P̄, R and every w_k, cross terms through D = Σwp − p_idle included, θ* changes as the corrected eq. 47
    says.
    """
    theory, bid = w4(signal), Bid(mean_w, reserve_w)
    weights = np.array([0.05, 0.11, 0.13, 0.14, 0.12, 0.13, 0.2, 0.12])
    found, by_mean_w, by_reserve_w, by_weights = jacobian(theory, bid, weights)
    types, j_all = theory.types, range(weights.size)
    d = weights @ types.power_w - theory.idle_w
    n_mu, n_sigma = (mean_w - 36 * 169.0) / d, np.sqrt(signal.variance) * reserve_w / d
    for j in j_all:
        theta, star, w = found.at[j], found.rate_per_s[j], weights[j]
        arriving = types.arrival_per_s[j] * types.work[j] * np.exp(theta * types.work[j])
        below = arriving - n_mu * w + n_sigma**2 * theta * w**2
        if found.case[j] == 3:
            expected = [0.0, 0.0, *(0.0 for _ in j_all)]
        elif found.case[j] == 1:
            expected = [2.0 * star / (mean_w - 36 * 169.0), -2.0 * star / reserve_w, *(0.0 for _ in j_all)]
        else:
            own = np.arange(weights.size) == j
            top = (-n_mu * types.power_w / d * w + n_mu * own) * theta
            top += n_sigma * n_sigma * types.power_w / d * theta**2 * w**2 - n_sigma**2 * theta**2 * w * own
            by_reserve = -n_sigma * (n_sigma / reserve_w) * theta**2 * w**2
            expected = [x * arriving / below for x in (theta * w / d, by_reserve, *top)]
        actual = [by_mean_w[j], by_reserve_w[j], *by_weights[j]]
        cancelling = 2.0 * star * types.power_w.max() / d  # in case I two such terms cancel but for their rounding
        assert actual == pytest.approx(expected, rel=1e-9, abs=4 * np.finfo(float).eps * cancelling)


def test_all_cases_stand_in_that_table() -> None:
    """The formulas above were compared in Cases I, II and III."""
    weights = np.array([0.05, 0.11, 0.13, 0.14, 0.12, 0.13, 0.2, 0.12])
    seen = {
        case
        for signal in (Gaussian(0.4), Gaussian.correlated(0.4, 200.0))
        for bid in (Bid(9500.0, 1500.0), Bid(10400.0, 3000.0), Bid(11500.0, 5000.0))
        for case in jacobian(w4(signal), bid, weights)[0].case.tolist()
    }
    assert seen == {1, 2, 3}


@settings(max_examples=60, deadline=None)
@given(st.lists(ones(), min_size=3, max_size=3))
def test_the_general_solver_agrees_with_the_closed_forms(drawn: list[One]) -> None:
    """Laws that only give value and slope reach the same θ and the same case, for several types at once."""
    rate, work = np.array([d.rate_per_s for d in drawn]), np.array([d.work for d in drawn])
    first = drawn[0]
    weights = np.array([d.weight * d.mean / first.mean for d in drawn])
    closed, case = poisson_gaussian(PoissonBatch(rate, work), first.signal, first.mean, first.spread, weights)
    separate = PerType(tuple(PoissonBatch(rate[j : j + 1], work[j : j + 1]) for j in range(3)))
    found, same = any_laws(separate, first.signal, first.mean, first.spread, weights)
    assert same.tolist() == case.tolist()
    assert found == pytest.approx(closed, rel=1e-9)


def recorded(seed: int) -> Blocks:
    """Return the law of a bounded, correlated signal as if it had been recorded."""
    noise = np.random.default_rng(seed).normal(0.0, 0.12, 20_000)
    return Blocks.of(np.clip(lfilter([1.0], [1.0, -0.95], noise), -1.0, 1.0), 2.0, 60.0)


@pytest.mark.parametrize(
    "signal", [Gaussian(0.4), Gaussian(0.0, 0.1), recorded(1)], ids=["gaussian", "still", "recorded"]
)
@pytest.mark.parametrize("spread", [3.0, 30.0])
@pytest.mark.parametrize("carried", [0.9, 1.3, 6.0])
@pytest.mark.parametrize("arrivals", ["gamma", "bursts"])
def test_other_laws_reach_their_supremum(arrivals: str, carried: float, spread: float, signal: LogMgf) -> None:
    """θ* of random work, bursty arrivals and recorded signals is the numerical supremum; its slopes are differences."""
    laws: dict[str, LogMgf] = {
        "gamma": GammaBatch(np.array([0.01]), np.array([200.0]), np.array([1.5])),
        "bursts": Bursts(*(np.array([x]) for x in (0.005, 0.04, 600.0, 100.0, 200.0))),
    }
    law = laws[arrivals]
    types = Types(*(np.array([x]) for x in (1.0, 200.0, 300.0, 0.01, 5.0, 0.1)))
    theory = Theory(types, 100, 100.0, signal, law)
    weight = carried * float(theory.load[0]) / 10.0
    found = decay(theory, Flow(10.0, spread, 1.0), np.array([weight]))
    expected = numerical_supremum(law, signal, 10.0, spread, weight, 0.1)
    assert found.rate_per_s[0] == pytest.approx(expected, rel=1e-6)
    derivatives = (found.by_mean[0], found.by_spread[0], found.by_weight[0])
    for k, at in enumerate((10.0, spread, weight)):
        ends = []
        for sign in (-1.0, 1.0):
            moved = [x + sign * 1e-5 * x * (i == k) for i, x in enumerate((10.0, spread, weight))]
            ends.append(decay(theory, Flow(moved[0], moved[1], 1.0), np.array([moved[2]])).rate_per_s[0])
        noise = 1e-10 * found.rate_per_s[0] / (1e-5 * at)
        assert derivatives[k] == pytest.approx((ends[1] - ends[0]) / (2e-5 * at), rel=1e-6, abs=noise)


class Metronome:
    """A user's own law: the same work every second."""

    def value(self, theta: Floats) -> Floats:
        """Return θ·2."""
        return 2.0 * theta

    def slope(self, theta: Floats) -> Floats:
        """Return 2."""
        return np.full(np.shape(theta), 2.0)


def test_where_nothing_is_random_nothing_is_late() -> None:
    """Even arrivals under a steady signal have θ* = ∞ when the share carries them: tail 0, slopes 0."""
    types = Types(*(np.array([x]) for x in (1.0, 2.0, 300.0, 1.0, 5.0, 0.1)))
    theory = Theory(types, 100, 100.0, Gaussian(0.0), Metronome())
    found = decay(theory, Flow(10.0, 3.0, 1.0), np.array([0.3]))
    assert found.rate_per_s.tolist() == [np.inf]
    assert (found.by_mean[0], found.by_spread[0], found.by_weight[0]) == (0.0, 0.0, 0.0)
    assert delay_tail(found.rate_per_s, 3.0, [0.0, 5.0]).tolist() == [0.0, 0.0]
    assert decay(theory, Flow(10.0, 3.0, 1.0), np.array([0.2])).case.tolist() == [3]


def delays_of_a_queue(one: One, tau_s: float, seconds: int, seed: int) -> Floats:
    """Simulate eq. 9's own world, a fluid queue that gets w·n(t) whatever others do; return the delay at each
    second.
    """
    rng = np.random.default_rng(seed)
    keep = np.exp(-1.0 / tau_s) if tau_s > 0 else 0.0
    y = lfilter([1.0], [1.0, -keep], rng.normal(0.0, one.signal.std * np.sqrt(1.0 - keep**2), seconds))
    arrived = np.cumsum(rng.poisson(one.rate_per_s, seconds) * one.work)
    surplus = arrived - np.cumsum(one.weight * np.maximum(one.mean + one.spread * y, 0.0))
    served = arrived - (surplus - np.minimum.accumulate(np.minimum(surplus, 0.0)))
    return np.searchsorted(served, arrived - 1e-9) - np.arange(seconds)


def slope_of_tail(delay: Floats) -> float:
    """Return how fast the logarithm of the delays' tail falls between 3 % and 0.2 %."""
    low, high = np.quantile(delay, [0.97, 0.998])
    return float(np.log(np.mean(delay >= low) / np.mean(delay >= high)) / (high - low))


def test_a_simulated_queue_decays_at_the_predicted_rate() -> None:
    """With independent seconds, the tail of a simulated queue's delays falls as the paper's θ* says."""
    one = One(0.03, 20.0, 0.09, 10.0, 8.0, Gaussian(0.4))
    assert slope_of_tail(delays_of_a_queue(one, 0.0, 4_000_000, 5)) == pytest.approx(one.decay().rate_per_s[0], rel=0.1)


def test_when_seconds_are_correlated_only_the_corrected_theory_holds() -> None:
    """With a time constant of 100 s the tail falls as the corrected θ* says, and several times slower than the
    paper's.
    """
    one = One(0.03, 20.0, 0.09, 10.0, 8.0, Gaussian.correlated(0.4, 100.0))
    measured = slope_of_tail(delays_of_a_queue(one, 100.0, 4_000_000, 6))
    paper = One(**{**one.__dict__, "signal": Gaussian(0.4)}).decay().rate_per_s[0]
    assert measured == pytest.approx(one.decay().rate_per_s[0], rel=0.2)
    assert paper > 2.0 * measured


def test_the_published_optimum_of_w4_leaves_seven_of_eight_types_without_a_theory() -> None:
    """At P̄ = 8434 W, R = 3435 W, is.D.64 at 31.3 % and the rest alike, only is.D.64 gets more servers than its
    load.
    """
    theory = w4()
    weights = np.where(np.array(list(W4)) == "is.D.64", 0.313, 0.687 / 7)
    flow = active_servers(theory, Bid(8434.0, 3435.0), weights)
    assert flow.mean == pytest.approx((8434 - 36 * 169) / (weights @ theory.types.power_w - 169))
    assert flow.mean < theory.load.sum() == pytest.approx(18.0)
    found = decay(theory, flow, weights)
    assert found.case.tolist() == [3 if name != "is.D.64" else 2 for name in W4]


def test_tails_are_probabilities() -> None:
    """Prob[D ≥ d] = min(1, α·e^{−θ*·d}), for every type and delay at once, even where α alone would overflow."""
    tail = delay_tail(
        np.array([[0.0], [0.1], [10.0]]), np.array([[-1.0], [1.0], [2000.0]]), np.array([0.0, 20.0, 300.0])
    )
    assert tail[0] == pytest.approx(np.exp([-1.0, -1.0, -1.0]))
    assert tail[1] == pytest.approx([1.0, np.exp(-1.0), np.exp(-29.0)])
    assert tail[2] == pytest.approx([1.0, 1.0, np.exp(-1000.0)])


def test_what_the_theory_cannot_mean_is_refused() -> None:
    """λ = 0, a share of 1, a type wider than the machine, missing weights, or work below idle power: one line each."""
    columns = {
        "nodes": [1.0, 4.0], "time_s": [10.0, 20.0], "power_w": [300.0, 150.0], "arrival_per_s": [0.1, 0.1],
        "limit": [3.0, 3.0], "share": [0.1, 0.1],
    }  # fmt: skip

    def types(**changes: list[float]) -> Types:
        return Types(**{k: np.array(v) for k, v in {**columns, **changes}.items()}, names=("ep", "lu"))

    with pytest.raises(InputError, match="type lu: arrival_per_s must be above 0, got 0"):
        types(arrival_per_s=[0.1, 0.0])
    with pytest.raises(InputError, match="type ep: share must be above 0 and below 1, got 1"):
        types(share=[1.0, 0.1])
    with pytest.raises(InputError, match="2 types, but 1 values of limit"):
        types(limit=[3.0])
    with pytest.raises(InputError, match="at least one type"):
        Types(*(np.array([]) for _ in range(6)))
    with pytest.raises(InputError, match="type lu: needs 4 nodes, the machine has 3"):
        Theory(types(), 3, 100.0)
    with pytest.raises(InputError, match="idle power"):
        Theory(types(), 8, -1.0)
    theory = Theory(types(), 8, 200.0)
    with pytest.raises(InputError, match="2 types, but 3 weights"):
        active_servers(theory, Bid(1000.0, 1.0), [0.2, 0.3, 0.5])
    with pytest.raises(InputError, match="could not raise the power"):
        active_servers(theory, Bid(1000.0, 1.0), [0.1, 0.9])


@pytest.mark.parametrize("servers", [3.5, 10.0, 30.0, 100.0])
@pytest.mark.parametrize("variation", [0.5, 1.0, 1.6, 2.5, 4.0, 8.0, 10.0])
def test_very_varied_work_is_late_at_times(variation: float, servers: float) -> None:
    """θ* of gamma jobs under a constant share is that of fifty digits, also where its root lies so close to the pole of
    their law that no float stands between; nobody is never late.
    """
    rate, work = 1e-2, 300.0
    law = GammaBatch(np.array([rate]), np.array([work]), np.array([variation]))
    types = Types(*(np.array([x]) for x in (1.0, work, 300.0, rate, 3.0, 0.1)))
    found = decay(Theory(types, 200, 100.0, Gaussian(0.4), law), Flow(servers, 0.0, 1.0), np.ones(1))
    with localcontext() as digits:
        digits.prec = 50
        square = Decimal(variation) ** 2
        low, high = Decimal(0), 1 / (Decimal(work) * square)
        for _ in range(150):
            theta = (low + high) / 2
            arriving = Decimal(rate) * ((-(1 - theta * Decimal(work) * square).ln() / square).exp() - 1)
            low, high = (theta, high) if arriving < Decimal(servers) * theta else (low, theta)
        right = float(Decimal(servers) * low)
    assert found.rate_per_s[0] == pytest.approx(right, rel=1e-9)
    assert np.isfinite([*found.by_mean, *found.by_weight]).all()
