"""The cost that AQA descends by hand, its gradient by differences, projection by brute force, and the theory page."""

from __future__ import annotations

import importlib
import itertools
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wattline.arrays import Floats
from wattline.errors import InputError
from wattline.model.regulation import Bid
from wattline.theory.gps_bounds import fit_log_alpha
from wattline.theory.gps_cost import Cost, Terms, Tracking, aqa_cost, project_simplex
from wattline.theory.gps_moments import Bursts, Gaussian, LogMgf
from wattline.theory.gps_tails import Theory, Types, active_servers, decay

NODES, TIME_S = np.array([1.0, 3.0, 4.0, 2.0]), np.array([84.0, 42.0, 27.0, 49.0])
RATE = 0.5 * 36 / (4 * NODES * TIME_S)
TYPES = Types(
    NODES,
    TIME_S,
    np.array([380.0, 249.0, 287.0, 378.0]),
    RATE,
    np.array([2.8, 5.6, 3.1, 5.0]),
    np.array([0.1, 0.1, 0.05, 0.2]),
)
TERMS = Terms.starting_at(9000.0)
BURSTY = Bursts(0.5 * RATE, 3.0 * RATE, np.full(4, 400.0), np.full(4, 100.0), TYPES.work)


def test_the_cost_by_hand() -> None:
    """Money, C_error of eq. 29 and the soft-plus terms of eq. 24, computed here from the equations."""
    theory, bid, weights = Theory(TYPES, 36, 169.0), Bid(10000.0, 2000.0), np.array([0.29, 0.25, 0.17, 0.29])
    log_alpha = np.log([0.3, 0.2, 0.04, 0.9])
    cost = aqa_cost(theory, TERMS, bid, weights, log_alpha, Tracking(0.12, 0.0, 0.0))
    rates = decay(theory, active_servers(theory, bid, weights), weights)
    assert rates.case.tolist() == [2, 2, 3, 2]
    n_mu = (10000 - 36 * 169) / (weights @ TYPES.power_w - 169)
    tail = np.exp(log_alpha - rates.rate_per_s * TYPES.limit_s)
    missing = 1.0 - n_mu * 0.17 / 4.5
    excess = tail * np.array([1.0, 1.0, 1.0 + 5.0 * missing**2, 1.0]) - TYPES.share
    beta = 0.1 * 0.10 * 9.0
    assert TERMS.beta == pytest.approx(beta)
    assert cost.money == pytest.approx(0.10 * 10.0 - 0.10 * 2.0)
    assert cost.error == pytest.approx(0.10 * (10.0 - 36 * 0.169 - 4.5 * (1.294 - 4 * 0.169)))
    assert cost.promises == pytest.approx(beta * np.log(1 + np.exp(50 * excess)))
    assert cost.tracking == pytest.approx(beta * np.log(1 + np.exp(50 * 0.02)))
    assert cost.total == pytest.approx(cost.money + cost.error + cost.promises.sum() + cost.tracking)
    assert cost.tail == pytest.approx(tail)


def test_the_promise_enters_as_it_was_observed() -> None:
    """With α fitted at the very point, each tail is the observed share, whatever the theory thinks of the rate."""
    theory, bid, weights = Theory(TYPES, 36, 169.0), Bid(10000.0, 2000.0), np.array([0.29, 0.25, 0.17, 0.29])
    rates = decay(theory, active_servers(theory, bid, weights), weights)
    log_alpha = fit_log_alpha([0.3, 1.0, 0.02, 0.01], rates.rate_per_s, TYPES.limit_s)
    cost = aqa_cost(theory, TERMS, bid, weights, log_alpha)
    assert cost.tail == pytest.approx([0.3, 1.0, 0.02, 0.01])
    assert cost.tracking == 0.0


def tracked(bid: Bid) -> Tracking:
    """Return a made-up tracking probability, linear in the bid."""
    return Tracking(0.08 - 2e-5 * (bid.mean_w - 10000.0) + 3e-5 * (bid.reserve_w - 2000.0), -2e-5, 3e-5)


def cost_at(theory: Theory, point: Floats, log_alpha: Floats) -> Cost:
    """Return the cost at (P̄, R, w)."""
    bid = Bid(float(point[0]), float(point[1]))
    return aqa_cost(theory, TERMS, bid, point[2:], log_alpha, tracked(bid))


def check_gradient(theory: Theory, point: Floats, log_alpha: Floats) -> bool:
    """Compare the gradient with five-point central differences; False if a border of cases or of min(1, ·) lies
    within.
    """
    here = cost_at(theory, point, log_alpha)
    gradient = np.array([here.by_mean_per_w, here.by_reserve_per_w, *here.by_weight])
    for k in range(point.size):
        step = 2e-5 * point[k]
        moved = [cost_at(theory, point + i * step * (np.arange(point.size) == k), log_alpha) for i in (-2, -1, 1, 2)]
        for m in moved:
            if (m.decay.case != here.decay.case).any() or ((m.tail == 1.0) != (here.tail == 1.0)).any():
                return False
        low2, low, high, high2 = (m.total for m in moved)
        difference = (low2 - 8.0 * low + 8.0 * high - high2) / (12.0 * step)
        noise = 2e-14 * sum(abs(x) for x in (here.money, here.error, *here.promises)) / step
        assert gradient[k] == pytest.approx(difference, rel=1e-6, abs=noise)
    return True


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([1.0, 40.0, 400.0]),
    st.floats(6500.0, 12500.0),
    st.floats(100.0, 6000.0),
    arrays(np.float64, 4, elements=st.floats(0.05, 1.0)),
    arrays(np.float64, 4, elements=st.floats(-4.0, 0.5)),
)
def test_the_gradient_by_central_differences(
    memory_s: float, mean_w: float, reserve_w: float, weights: Floats, log_alpha: Floats
) -> None:
    """∂C/∂P̄, ∂C/∂R and every ∂C/∂w_k agree with differences to 1e-6, all cases mixed, in the paper's theory and
    ours.
    """
    theory = Theory(TYPES, 36, 169.0, Gaussian(0.4, memory_s=memory_s))
    assume(check_gradient(theory, np.concatenate([[mean_w, reserve_w], weights / weights.sum()]), log_alpha))


@pytest.mark.parametrize("signal", [Gaussian(0.4, 0.05, 40.0), Gaussian(0.4)], ids=["biased", "centred"])
@pytest.mark.parametrize("arrivals", [None, BURSTY], ids=["poisson", "bursts"])
@pytest.mark.parametrize("mean_w", [8000.0, 9500.0, 11000.0])
def test_the_gradient_under_other_laws(mean_w: float, arrivals: LogMgf | None, signal: Gaussian) -> None:
    """The same for bursty arrivals and for a signal whose mean is not 0."""
    theory = Theory(TYPES, 36, 169.0, signal, arrivals)
    assert check_gradient(theory, np.array([mean_w, 2000.0, 0.3, 0.25, 0.2, 0.25]), np.log([0.3, 0.2, 0.1, 0.4]))


def test_at_the_point_of_fitting_even_a_tail_of_one_has_a_slope() -> None:
    """Where every job was late α·e^{−θ*D} is 1 by construction; rounding must not hide that more power would help."""
    theory, bid = Theory(TYPES, 36, 169.0), Bid(11500.0, 2000.0)
    for first in np.linspace(0.2, 0.4, 21):
        weights = np.array([first, 0.25, 0.2, 0.55 - first])
        rates = decay(theory, active_servers(theory, bid, weights), weights)
        log_alpha = fit_log_alpha(np.ones(4), rates.rate_per_s, TYPES.limit_s)
        assert aqa_cost(theory, TERMS, bid, weights, log_alpha).by_mean_per_w < -1e-4


def test_a_share_below_its_load_is_pushed_up_only_where_jobs_are_late() -> None:
    """In Case III the missing share pulls its weight up if the type breaks its promise, and hardly if it keeps it."""
    theory, bid, weights = Theory(TYPES, 36, 169.0), Bid(8434.0, 3435.0), np.array([0.2, 0.2, 0.2, 0.4])
    late = aqa_cost(theory, TERMS, bid, weights, np.log([0.3, 0.001, 0.001, 0.001]))
    fine = aqa_cost(theory, TERMS, bid, weights, np.log([0.001, 0.001, 0.001, 0.001]))
    assert late.decay.case.tolist()[:3] == [3, 3, 3]
    relative = late.by_weight[0] - late.by_weight[1]
    assert relative < -1.0
    assert abs(fine.by_weight[0] - fine.by_weight[1]) < 0.1 * abs(relative)
    off = aqa_cost(theory, replace(TERMS, shortage=0.0), bid, weights, np.log([0.3, 0.001, 0.001, 0.001]))
    assert abs(off.by_weight[0]) < 0.05 * abs(late.by_weight[0])


def test_nothing_in_the_papers_cost_holds_the_reserve_back() -> None:
    """Where promises are kept, cost falls with R at the full reserve price; only the tracking term turns that round."""
    theory, weights, log_alpha = Theory(TYPES, 36, 169.0), np.array([0.29, 0.25, 0.17, 0.29]), np.log(np.full(4, 1e-3))
    for reserve_w in (1000.0, 4000.0, 9000.0):
        bid = Bid(10500.0, reserve_w)
        assert aqa_cost(theory, TERMS, bid, weights, log_alpha).by_reserve_per_w == pytest.approx(-1e-4, rel=0.05)
        loose = aqa_cost(theory, TERMS, bid, weights, log_alpha, Tracking(0.3, 0.0, 1e-4))
        assert loose.by_reserve_per_w > 1e-4


def test_descent_with_projection_finds_the_weights_that_a_search_finds() -> None:
    """At a fixed bid, projected gradient steps reach a cost no worse than the best of 1,000 random weights."""
    theory, bid = Theory(TYPES, 36, 169.0, Gaussian.correlated(0.4, 20.0)), Bid(10300.0, 2500.0)
    log_alpha, weights = np.log([0.9, 0.8, 0.9, 0.3]), np.full(4, 0.25)
    best = np.inf
    for k in range(150):
        cost = aqa_cost(theory, TERMS, bid, weights, log_alpha)
        best = min(best, cost.total)
        weights = project_simplex(weights - 0.05 / (1 + k) * cost.by_weight / np.linalg.norm(cost.by_weight))
    others = np.random.default_rng(1).dirichlet(np.ones(4), 1000)
    assert best <= min(aqa_cost(theory, TERMS, bid, w, log_alpha).total for w in others)


def nearest_by_enumeration(v: Floats, floor: float) -> Floats:
    """Solve the projection's quadratic programme by trying every set of weights at the floor."""
    best, found = np.inf, np.full(v.size, np.nan)
    for at_floor in itertools.product([False, True], repeat=v.size):
        held = np.array(at_floor)
        free = v.size - held.sum()
        w = np.full(v.size, floor)
        if free:
            w[~held] = v[~held] + (1.0 - floor * held.sum() - v[~held].sum()) / free
        if np.all(w >= floor - 1e-12) and abs(w.sum() - 1.0) < 1e-9 and np.sum((w - v) ** 2) < best:
            best, found = float(np.sum((w - v) ** 2)), w
    return found


@settings(max_examples=150, deadline=None)
@given(
    arrays(np.float64, st.integers(1, 6), elements=st.floats(-2.0, 2.0).map(lambda x: round(x, 6))),
    st.sampled_from([0.0, 1e-3, 0.1]),
)
def test_projection_is_the_nearest_point(v: Floats, floor: float) -> None:
    """It is the solution of the quadratic programme; what already is a set of weights stays."""
    w = project_simplex(v, floor)
    assert w == pytest.approx(nearest_by_enumeration(v, floor), abs=1e-9)
    assert w.min() >= floor
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert project_simplex(w, floor) == pytest.approx(w, abs=1e-12)


def test_what_has_no_projection_is_refused() -> None:
    """No weights, endless ones, or floors that do not fit into 1: one clear line."""
    for point, floor in (([], 0.0), ([np.inf, 0.0], 0.0), ([0.5, 0.5, 0.5], 0.4)):
        with pytest.raises(InputError, match="cannot project"):
            project_simplex(point, floor)
    assert project_simplex([3.0, -1.0, 0.1, 0.2], 0.25).tolist() == [0.25] * 4


def test_the_theory_page_names_what_exists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every ``gps_….name`` on the theory page is a name in the code, and its example runs."""
    page = (Path(__file__).parents[2] / "docs/theory.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(gps_\w+)\.(\w+)", page))
    assert len(names) >= 15
    for module, name in names:
        assert hasattr(importlib.import_module(f"wattline.theory.{module}"), name), f"{module}.{name}"
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
    assert capsys.readouterr().out.startswith("[2 2] ")
