"""Log-moment-generating functions against samples, matrix exponentials, differences and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.signal import lfilter

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.theory.gps_moments import Blocks, Bursts, GammaBatch, Gaussian, LogMgf, PerType, PoissonBatch, memory_s

RATE, WORK = np.array([0.05, 0.8]), np.array([40.0, 3.0])
POISSON = PoissonBatch(RATE, WORK)
GAMMA = GammaBatch(RATE, WORK, np.array([1.0, 0.4]))
BURSTS = Bursts(0.5 * RATE, 4.0 * RATE, np.array([300.0, 60.0]), np.array([50.0, 200.0]), WORK)
SIGNAL = np.array([-1.0, -0.3, 0.1, 0.2, 0.9, 0.1, -0.4, 0.4])


def mean_reverting(seconds: int, std: float, tau_s: float, seed: int) -> Floats:
    """Return a Gaussian signal, one value a second, whose correlation falls as e^{−t/τ}."""
    keep = np.exp(-1.0 / tau_s)
    noise = np.random.default_rng(seed).normal(0.0, std * np.sqrt(1.0 - keep**2), seconds)
    noise[0] = std
    return np.asarray(lfilter([1.0], [1.0, -keep], noise))


def work_of_a_second(law: LogMgf, samples: int) -> Floats:
    """Draw the work that arrives in a second, for each of the two types."""
    rng = np.random.default_rng(7)
    jobs = rng.poisson(RATE, (samples, 2))
    if isinstance(law, GammaBatch):
        shape = 1.0 / law.variation**2
        # a sum of k gamma variables is gamma with k times the shape
        return np.where(jobs > 0, rng.gamma(np.maximum(jobs, 1) * shape) * WORK / shape, 0.0)
    return jobs * WORK


@pytest.mark.parametrize("law", [POISSON, GAMMA], ids=["equal jobs", "gamma jobs"])
@pytest.mark.parametrize("tilt", [-0.5, 0.1, 0.3])
def test_batch_arrivals_are_what_samples_say(law: LogMgf, tilt: float) -> None:
    """Λ_A(θ) is the logarithm of the sampled mean of e^{θ·work}, within 5 standard errors."""
    weight = np.exp(tilt / WORK * work_of_a_second(law, 400_000))
    error = weight.std(axis=0) / np.sqrt(len(weight)) / weight.mean(axis=0)
    assert np.all(np.abs(np.log(weight.mean(axis=0)) - law.value(tilt / WORK)) < 5.0 * error)


@pytest.mark.parametrize("scaled", [-1.0, 0.01, 0.2, 1.0])
def test_bursty_arrivals_are_the_growth_rate_of_their_moment_generating_function(scaled: float) -> None:
    """Over a long time t the log-moment-generating function of a two-phase process is t·Λ plus a constant."""
    theta = scaled / WORK
    for j in range(2):
        turn = 1.0 / np.array([BURSTS.calm_s[j], BURSTS.busy_s[j]])
        phases = np.array([[-turn[0], turn[0]], [turn[1], -turn[1]]])
        grow = np.diag([BURSTS.calm_per_s[j], BURSTS.busy_per_s[j]]) * np.expm1(theta[j] * WORK[j])
        long_s = min(3000.0, 500.0 / np.abs(grow).max())  # many phases, no overflow
        first, second = (np.log(expm(t * (phases + grow)).sum()) for t in (long_s, long_s + 1.0))
        assert BURSTS.value(theta)[j] == pytest.approx(second - first, rel=1e-6)


def test_equal_phases_are_no_bursts_and_unvarying_work_is_equal_jobs() -> None:
    """Bursts of one rate are Poisson; gamma work of small variation is equal work."""
    theta = np.array([0.3, 0.7]) / WORK
    even = Bursts(RATE, RATE, np.array([10.0, 99.0]), np.array([50.0, 3.0]), WORK)
    assert even.value(theta) == pytest.approx(POISSON.value(theta), rel=1e-12)
    assert even.slope(theta) == pytest.approx(POISSON.slope(theta), rel=1e-12)
    narrow = GammaBatch(RATE, WORK, np.full(2, 1e-4))
    assert narrow.value(theta) == pytest.approx(POISSON.value(theta), rel=1e-6)


LAWS = {
    "equal": POISSON,
    "gamma": GAMMA,
    "bursts": BURSTS,
    "mixed": PerType((PoissonBatch(RATE[:1], WORK[:1]), GammaBatch(RATE[1:], WORK[1:], np.array([2.0])))),
    "gaussian": Gaussian(0.4, 0.05, 300.0),
    "blocks": Blocks.of(SIGNAL, 2.0, 4.0),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
@settings(max_examples=40, deadline=None)
@given(scaled=st.floats(-3.0, 0.2))
def test_slopes_are_derivatives_and_nothing_is_nothing(law: LogMgf, scaled: float) -> None:
    """Every Λ is 0 at 0, its slope there is the mean, and its slope elsewhere is what central differences say."""
    theta, step = scaled / WORK, 1e-5 / WORK
    difference = (law.value(theta + step) - law.value(theta - step)) / (2.0 * step)
    assert law.slope(theta) == pytest.approx(difference, rel=1e-6, abs=1e-9)
    assert law.value(np.zeros(2)) == pytest.approx(np.zeros(2), abs=1e-15)


def test_slopes_of_the_papers_laws_by_complex_steps() -> None:
    """Where a law can be continued into the complex plane, its slope agrees to the last digits."""
    theta = np.array([0.013, 0.7]).astype(np.complex128) + 1e-200j
    for law in (POISSON, Gaussian(0.4, memory_s=200.0)):
        continued: LogMgf = law
        assert continued.slope(theta.real) == pytest.approx(continued.value(theta).imag / 1e-200, rel=1e-14)  # type: ignore[arg-type]


def test_beyond_its_pole_a_law_is_infinite() -> None:
    """Exponential work has no moment generating function beyond θ = 1/mean, and no Λ overflows into a warning."""
    assert GAMMA.value(1.01 / WORK)[0] == np.inf
    assert GAMMA.slope(1.01 / WORK)[0] == np.inf
    assert np.all(np.isposinf(BURSTS.value(1e4 / WORK)))
    assert np.all(np.isposinf(BURSTS.slope(1e4 / WORK)))


def test_a_correlated_signal_has_the_asymptotic_variance_two_tau() -> None:
    """The sum of a mean-reverting signal varies by 2τ·std² a second: the corrected Λ_B, not the paper's."""
    tau_s, window = 50.0, 5_000
    y = mean_reverting(5_000_000, 0.4, tau_s, seed=1)
    sums = y.reshape(-1, window).sum(axis=1)
    assert sums.var() / window == pytest.approx(Gaussian.correlated(0.4, tau_s).variance, rel=0.15)
    assert sums.var() / window > 50.0 * Gaussian(0.4).variance


def test_the_memory_of_a_recorded_signal() -> None:
    """It grows with the window as 2τ(1 − (τ/t)(1 − e^{−t/τ})), is one step for noise, and 0 for a neutral signal."""
    tau_s = 50.0
    y = mean_reverting(2_000_000, 0.4, tau_s, seed=2)
    for window_s in (10.0, 100.0, 1000.0):
        expected = 2.0 * tau_s * (1.0 - tau_s / window_s * (1.0 - np.exp(-window_s / tau_s)))
        assert memory_s(y, 1.0, window_s) == pytest.approx(expected, rel=0.1)
    noise = np.random.default_rng(3).normal(size=100_000)
    assert memory_s(noise, 2.0, 200.0) == pytest.approx(2.0, rel=0.15)
    hours = y[: 555 * 3600].reshape(-1, 3600)
    assert memory_s((hours - hours.mean(axis=1)[:, None]).ravel(), 1.0, 3600.0) == pytest.approx(0.0, abs=1e-12)


def test_stretches_of_a_recorded_signal_keep_its_correlation_and_its_bounds() -> None:
    """Long stretches of a correlated signal have 2τ·std²; the slope never leaves what was recorded."""
    tau_s = 20.0
    y = mean_reverting(4_000_000, 0.4, tau_s, seed=4)
    law, gaussian = Blocks.of(y, 1.0, 1000.0), Gaussian.correlated(0.4, tau_s)
    theta = np.array([-0.01, 0.01])
    assert law.value(theta) == pytest.approx(gaussian.value(theta), rel=0.1)
    single = Blocks.of(SIGNAL, 2.0, 2.0)
    assert single.slope(np.array([-1e6, 1e6])) == pytest.approx([-1.0, 0.9])
    assert single.value(np.array([0.0])) == pytest.approx([0.0])


def test_signals_too_short_or_too_still_are_refused() -> None:
    """A stretch longer than half the signal, shorter than a step, or a signal that does not move: one clear line."""
    for span_s in (12.0, 0.1):
        with pytest.raises(InputError, match="at least one step and at most half the signal"):
            Blocks.of(SIGNAL, 2.0, span_s)
    with pytest.raises(InputError, match="all the same"):
        memory_s(np.zeros(100), 1.0, 10.0)
