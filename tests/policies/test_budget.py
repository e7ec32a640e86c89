"""Budgets that nest: who gets what at every instant, and which trees are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattline.errors import InputError
from wattline.model.budget import Budget, BudgetTree, Steps
from wattline.policies.budget import fill, grants, grants_at

ROUNDING = 1e-9
HUGE = 1.7e308


def tree(*budgets: Budget) -> BudgetTree:
    """Return a tree with a site of 100 W above these."""
    return BudgetTree((Budget("site", limit=Steps(100.0)), *budgets))


def test_a_fixed_share_is_a_share_of_what_there_is() -> None:
    """Fixed shares follow the whole when it changes; what nobody has a share of stays unused."""
    found = grants(
        BudgetTree(
            (
                Budget("site", limit=Steps(100.0, ((60.0, 50.0),)), rule="fixed"),
                Budget("a", "site", share=0.5),
                Budget("b", "site", share=0.3, limit=Steps(20.0)),
            )
        )
    )
    assert found == {
        "site": [(0.0, 100.0), (60.0, 50.0)],
        "a": [(0.0, 50.0), (60.0, 25.0)],
        "b": [(0.0, 20.0), (60.0, 15.0)],
    }


def test_what_one_part_cannot_use_goes_to_the_others() -> None:
    """By weight: 1 : 1 : 2 of 100 W, but the first takes only 10 W."""
    found = tree(Budget("a", "site", Steps(10.0)), Budget("b", "site"), Budget("c", "site", weight=2.0))
    assert grants_at(found, 0.0) == {"site": 100.0, "a": 10.0, "b": 30.0, "c": 60.0}


def test_by_demand_nobody_gets_more_than_it_asks_for() -> None:
    """Where all suffices, all get what they ask for; where it does not, the same part of it."""
    asked = Steps(30.0, ((10.0, 90.0),))
    found = BudgetTree(
        (
            Budget("site", limit=Steps(80.0), rule="demand"),
            Budget("a", "site", demand=asked),
            Budget("b", "site", demand=Steps(30.0)),
        )
    )
    assert grants_at(found, 0.0) == {"site": 80.0, "a": 30.0, "b": 30.0}
    later = grants_at(found, 10.0)
    assert later["a"] == pytest.approx(80.0 * 80 / 110)  # nobody asks for more than there is
    assert later["b"] == pytest.approx(80.0 * 30 / 110)


def test_who_names_no_demand_asks_for_all_there_is() -> None:
    """Its limit bounds that, as it bounds what others ask for."""
    parts = Budget("a", "site", demand=Steps(160.0)), Budget("b", "site"), Budget("c", "site", Steps(40.0))
    found = grants_at(BudgetTree((Budget("site", limit=Steps(80.0), rule="demand"), *parts)), 0.0)
    assert [found[name] for name in "abc"] == pytest.approx([80.0 * ask / 200 for ask in (80, 80, 40)])


def test_a_site_without_a_limit_leaves_parts_their_own() -> None:
    """Where the whole is unlimited, its parts have their own limits, or none."""
    found = BudgetTree((Budget("site"), Budget("a", "site", Steps(5.0)), Budget("b", "site")))
    assert grants_at(found, 0.0) == {"site": math.inf, "a": 5.0, "b": math.inf}


@st.composite
def trees(draw: st.DrawFn) -> BudgetTree:
    """Return any tree of up to nine budgets with limits and demands that change."""
    power = st.just(0.0) | st.floats(1e-6, 1e6) | st.floats(1e6, HUGE / 1024)

    def steps(values: st.SearchStrategy[float]) -> Steps:
        times = sorted(draw(st.lists(st.integers(0, 20), max_size=3, unique=True)))
        return Steps(draw(values), tuple((float(t), draw(values)) for t in times))

    count = draw(st.integers(1, 9))
    rules = [draw(st.sampled_from(["proportional", "fixed", "demand"])) for _ in range(count)]
    parents = [-1] + [draw(st.integers(0, i - 1)) for i in range(1, count)]
    found = []
    for i in range(count):
        rule = rules[parents[i]] if i else ""
        siblings = parents.count(parents[i])
        share = draw(st.floats(0.01, 1.0)) / siblings if rule == "fixed" else math.nan
        weight = draw(st.floats(0.01, 100.0) | st.floats(1e-100, 1e100)) if rule == "proportional" else math.nan
        demand = steps(power) if rule == "demand" and draw(st.booleans()) else None
        limit = steps(power | st.just(math.inf))
        above = found[parents[i]].limit if i else None
        if above is not None and above.highest_w < limit.highest_w < math.inf:
            limit = Steps(math.inf)
        found.append(
            Budget(str(i), str(parents[i]) if i else "", limit, rules[i], share, weight, demand)  # type: ignore[arg-type]
        )
    return BudgetTree(tuple(found))


@given(trees())
@settings(max_examples=300, deadline=None)
def test_at_every_instant_parts_sum_to_at_most_their_whole(found: BudgetTree) -> None:
    """Σ parts ≤ whole, nobody above its own limit or demand, and by weight or demand nothing is left while somebody
    could use it.
    """
    changes = grants(found)
    for time_s in [*found.times_s(), 0.5, 7.5, 100.0]:
        granted = grants_at(found, time_s)
        for b in found.budgets:
            held = [watts for at_s, watts in changes[b.name] if at_s <= time_s][-1]
            assert held == granted[b.name]
            assert granted[b.name] <= b.limit.at(time_s)
            if b.demand is not None:
                assert granted[b.name] <= b.demand.at(time_s)
            parts = found.parts[b.name]
            if not parts or math.isinf(granted[b.name]):
                continue
            total = math.fsum(granted[part.name] for part in parts)
            assert total <= granted[b.name] * (1 + ROUNDING)
            most = [min(part.limit.at(time_s), part.demand.at(time_s) if part.demand else math.inf) for part in parts]
            full = all(granted[part.name] >= cap * (1 - ROUNDING) for part, cap in zip(parts, most, strict=True))
            if b.rule != "fixed" and not full:
                assert total >= granted[b.name] * (1 - 1e-6)


def shared_by_weight(watts: Fraction, most: Sequence[Fraction], weights: Sequence[Fraction]) -> list[Fraction]:
    """Round by round: all get by weight what is left; who is then full has its most and takes no part any more."""
    found, open_ = list(most), list(range(len(most)))
    while open_:
        left = watts - sum(found[i] for i in range(len(most)) if i not in open_)
        level = left / sum(weights[i] for i in open_)
        full = [i for i in open_ if level * weights[i] >= most[i]]
        if not full:
            for i in open_:
                found[i] = level * weights[i]
            break
        open_ = [i for i in open_ if i not in full]
    return found


def shared_by_demand(watts: Fraction, asked: Sequence[Fraction]) -> list[Fraction]:
    """Nobody asks for more than the whole; where all ask for too much, all get the same part of it."""
    asks = [min(watts, ask) for ask in asked]
    part = watts / sum(asks) if sum(asks) > watts else Fraction(1)
    return [part * ask for ask in asks]


def exact(watts: float, whole: float) -> Fraction:
    """Return watts as a fraction; no limit is as good as the whole."""
    return Fraction(min(watts, whole))


@given(trees(), st.sampled_from([0.25, 1.0, 1024.0]))
@settings(max_examples=300, deadline=None)
def test_a_plain_twin_grants_the_same(found: BudgetTree, scale: float) -> None:
    """In fractions, from what each whole was granted; and all powers times a number are all grants times that."""
    larger = grants_at(scaled(found, scale), 7.0)
    granted = grants_at(found, 7.0)
    assert larger == pytest.approx({name: watts * scale for name, watts in granted.items()}, rel=ROUNDING)
    for b in found.budgets:
        parts, whole = found.parts[b.name], granted[b.name]
        ours = [granted[part.name] for part in parts]
        most = [part.limit.at(7.0) for part in parts]
        asked = [min(cap, part.demand.at(7.0)) if part.demand else cap for cap, part in zip(most, parts, strict=True)]
        if math.isinf(whole):
            assert ours == (asked if b.rule == "demand" else most)
            continue
        limits = [exact(cap, whole) for cap in most]
        if b.rule == "fixed":
            twin = [min(cap, Fraction(part.share) * Fraction(whole)) for cap, part in zip(limits, parts, strict=True)]
        elif b.rule == "demand":
            twin = shared_by_demand(Fraction(whole), [exact(ask, whole) for ask in asked])
        else:
            twin = shared_by_weight(Fraction(whole), limits, [Fraction(part.weight) for part in parts])
        assert ours == pytest.approx([float(watts) for watts in twin], rel=ROUNDING, abs=whole * ROUNDING)


def scaled(found: BudgetTree, by: float) -> BudgetTree:
    """Return a tree whose powers are all times a number."""

    def more(steps: Steps) -> Steps:
        return Steps(steps.first_w * by, tuple((time_s, watts * by) for time_s, watts in steps.steps))

    return BudgetTree(tuple(replace(b, limit=more(b.limit), demand=b.demand and more(b.demand)) for b in found.budgets))


@pytest.mark.parametrize(
    ("watts", "most", "weights", "expected"),
    [
        (100.0, [10.0, 1000.0], [1e17, 1.0], [10.0, 90.0]),
        (100.0, [1000.0, 1000.0], [HUGE, HUGE], [50.0, 50.0]),
        (100.0, [10.0, 1000.0], [HUGE, 1e-320], [10.0, 90.0]),
        (HUGE, [HUGE, 1e307], [1e-5, 1e-5], [HUGE - 1e307, 1e307]),
        (1e-300, [HUGE, math.inf], [1.0, 3.0], [2.5e-301, 7.5e-301]),
        (0.0, [5.0, math.inf], [1.0, 1.0], [0.0, 0.0]),
    ],
)
def test_extreme_numbers_are_shared_too(
    watts: float, most: list[float], weights: list[float], expected: list[float]
) -> None:
    """Sums of weights neither overflow nor lose the light ones."""
    assert fill(watts, most, weights) == pytest.approx(expected)


@pytest.mark.parametrize("watts", [0.0, 1000.0, HUGE])
def test_demands_whose_sum_overflows_are_shared(watts: float) -> None:
    """Three that ask for as much as a float holds get a third each; who asks for nothing gets nothing."""
    parts = [Budget(name, "site", demand=Steps(HUGE)) for name in "abc"]
    whole = Budget("site", limit=Steps(watts), rule="demand")
    found = grants_at(BudgetTree((whole, *parts, Budget("d", "site", demand=Steps(0.0)))), 0.0)
    assert [found[name] for name in "abcd"] == pytest.approx([watts / 3, watts / 3, watts / 3, 0.0])


@given(
    st.floats(0, 1e6),
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0.01, 100)), min_size=1, max_size=6),
    st.integers(0, 5),
    st.floats(0, 1e5),
)
def test_more_for_all_is_never_less_for_one(
    watts: float, parts: list[tuple[float, float]], which: int, more: float
) -> None:
    """A larger whole takes nothing away from anybody."""
    most, weights = (list(column) for column in zip(*parts, strict=True))
    before, after = fill(watts, most, weights), fill(watts + more, most, weights)
    assert after[which % len(parts)] >= before[which % len(parts)] * (1 - ROUNDING) - 1e-9


@pytest.mark.parametrize(
    ("budgets", "told"),
    [
        ((Budget("a", "room"),), "budget 'a': there is no budget 'room'"),
        ((Budget("a", "site"), Budget("a", "site")), "budget 'a' is given twice"),
        ((Budget("other"),), "one budget is the whole and has no parent; here: 'site' and 'other'"),
        ((Budget("a", "b"), Budget("b", "a")), "budgets 'a' in 'b' in 'a' go round in a circle"),
        ((Budget("a", "site", Steps(200.0)),), "budget 'a': 200 W is above the 100 W that its parent 'site' ever has"),
        ((Budget("a", "site", share=0.5),), "budget 'a': a share goes with a parent whose parts have fixed shares"),
        (
            (Budget("a", "site", demand=Steps(5.0)),),
            "budget 'a': a demand goes with a parent whose parts share by demand",
        ),
        (
            (Budget("a", "site", rule="demand"), Budget("b", "a", weight=3.0)),
            "budget 'b': a weight goes with a parent whose parts share by weight",
        ),
        (
            (Budget("a", "site", rule="fixed"), Budget("b", "a", share=0.5, weight=1.0)),
            "budget 'b': a weight goes with a parent whose parts share by weight",
        ),
        (
            (Budget("a", "site", rule="fixed"), Budget("b", "a")),
            "budget 'b' needs a share: the parts of 'a' have fixed ones",
        ),
        (
            (Budget("a", "site", rule="fixed"), Budget("b", "a", share=0.7), Budget("c", "a", share=0.4)),
            "the shares of the parts of 'a' sum to 1.1, more than 1",
        ),
    ],
)
def test_what_is_no_tree_is_refused(budgets: tuple[Budget, ...], told: str) -> None:
    """One line says which budget is wrong, and how."""
    with pytest.raises(InputError, match=told):
        tree(*budgets)
