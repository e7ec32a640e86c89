"""Faults put into samples: each is found, counted to the last one, and never used."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from telemetry_world import IDLE_W, energy_of, slow_join, world

from wattline.errors import InputError, TraceError
from wattline.telemetry.cleaning.faults import WHAT, Fault
from wattline.telemetry.cleaning.rules import Rules
from wattline.telemetry.join import Split
from wattline.telemetry.made.inject import CLASSES, HOLES, inject, parse_faults
from wattline.telemetry.made.sample import Plan, Samples, draw_samples, write_samples
from wattline.telemetry.nodes.work import Machine, Work
from wattline.telemetry.read import check, join, open_source
from wattline.telemetry.sources import source as telemetry_source
from wattline.telemetry.sources.columns import Wanted

DAY_S = 86400.0
SHARES = {fault.word: {fault: 0.004} for fault in CLASSES} | {"all": dict.fromkeys(CLASSES, 0.004)}


def expected(counts: dict[str, int], stuck: int) -> dict[str, int]:
    """Return what must be found: samples moved in time leave a hole, and nobody minds a stuck sensor on free nodes."""
    found = {fault.word: counts.get(fault.word, 0) for fault in Fault}
    return found | {"missing": sum(counts.get(fault.word, 0) for fault in HOLES), "stuck": stuck}


@functools.cache
def sampled(by: str) -> tuple[Work, Samples, float]:
    """Return jobs on a machine, good samples of their power, and the time between two of them."""
    work, series = world(
        40 if by == "rack" else 24,
        1.0,
        7,
        aligned=False,
        whole=by == "job",
        machine=Machine(per_rack=8),
    )
    every_s = 60.0 if by != "node" else 300.0
    plan = Plan(by=by, every_s=every_s, noise=0.02)  # type: ignore[arg-type]
    return work, draw_samples(work, energy_of(work.trace.jobs, series), plan, 0.0, DAY_S, series), every_s


@pytest.mark.parametrize("by", ["node", "rack", "job"])
@pytest.mark.parametrize(("name", "window"), [*((name, 150) for name in SHARES), ("all", 10**6)])
def test_a_fault_is_found_and_never_used(
    name: str, by: str, window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each class alone and all together: counts are those put in, and jobs have the power of the good samples alone."""
    monkeypatch.setattr(telemetry_source, "ROWS", window)
    work, clean, every_s = sampled(by)
    spoilt = inject(clean, SHARES[name], every_s, seed=2)
    assert all(spoilt.counts[fault.word] > 0 for fault in SHARES[name])
    write_samples(spoilt.samples.frame(work.trace.jobs), tmp_path / "power.parquet")
    split, rules = Split(300.0, IDLE_W), Rules(most_w=spoilt.most_w)
    if by == "job":
        # the limit of a job is per node: what was put in is above it for the widest
        rules = Rules(period_s=every_s, most_w=spoilt.most_w / work.trace.jobs.nodes.max())
    found = join(open_source(str(tmp_path / "power.parquet")), work, split, rules=rules, least=0.0, window=window)
    stuck = np.flatnonzero(spoilt.fault == Fault.STUCK)
    order = stuck[np.lexsort((clean.time_s[stuck], clean.code[stuck]))]
    held = (
        int(found.join.held(clean.code[order], clean.time_s[order], clean.time_s[order] + every_s).sum())
        if order.size
        else 0
    )
    assert found.reading.facts()["faults"] == expected(spoilt.counts, held)
    energy, node_s = slow_join(work, clean, split, hold_s=1.5 * every_s, injected=spoilt)
    assert found.profiles.energy_j == pytest.approx(sum(energy.values()), rel=1e-9)
    got = found.trace.jobs.series
    assert got is not None
    watts = [joules / node_s[key] for key, joules in energy.items()]
    np.testing.assert_allclose([got.of(job)[step] for job, step in energy], watts, rtol=1e-5, atol=1e-12)


def test_without_jobs_every_fault_is_counted_too(tmp_path: Path) -> None:
    """Looked at by themselves, samples have all faults put in; only strangers cannot be told, and stuck ones count
    everywhere.
    """
    work, series = world(64, 2.0)
    clean = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, 2 * DAY_S, series)
    spoilt = inject(clean, dict.fromkeys(CLASSES, 0.002), 300.0)
    write_samples(spoilt.samples.frame(work.trace.jobs), tmp_path / "power.csv.gz")
    facts = check(open_source(str(tmp_path / "power.csv.gz")), rules=Rules(most_w=spoilt.most_w)).facts()
    told = {k: v for k, v in facts["faults"].items() if k not in ("unknown", "missing", "duplicate")}
    assert told == {k: v for k, v in expected(spoilt.counts, spoilt.counts["stuck"]).items() if k in told}
    assert facts["sensors"] == 65
    assert facts["period_s"] == 300.0
    worst = facts["worst"][0]
    assert worst["faults"] >= facts["worst"][-1]["faults"] > 0


@pytest.mark.parametrize("fault", CLASSES)
def test_strict_reading_refuses_the_first_fault(fault: Fault, tmp_path: Path) -> None:
    """One line names the file, the class, the sensor, the time and the value."""
    work, series = world()
    clean = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, DAY_S, series)
    spoilt = inject(clean, {fault: 0.01}, 300.0)
    write_samples(spoilt.samples.frame(work.trace.jobs), tmp_path / "power.parquet")
    words = "missing" if fault == Fault.MISSING else fault.word
    with pytest.raises(
        TraceError, match=rf"power.parquet: field 'power': {words}: .*; sensor .* at .*without --strict"
    ):
        join(
            open_source(str(tmp_path / "power.parquet")),
            work,
            Split(300.0),
            rules=Rules(most_w=spoilt.most_w),
            strict=True,
        )


def frame(tmp_path: Path, **columns: object) -> str:
    """Write columns as samples."""
    pl.DataFrame(columns).write_parquet(tmp_path / "p.parquet")
    return str(tmp_path / "p.parquet")


def test_a_gap_is_missing_power_and_a_pause_of_all_is_no_clock_ahead(tmp_path: Path) -> None:
    """After a pause of four days of the whole machine its sensors go on; what lies between counts as missing."""
    time_s = np.concatenate([np.arange(0, 6000, 60), 4 * DAY_S + np.arange(0, 600, 60)])
    power = np.random.default_rng(1).uniform(50, 60, 2 * time_s.size)
    source = frame(tmp_path, node=np.repeat([0, 1], time_s.size), time_s=np.tile(time_s, 2), power=power)
    facts = check(open_source(source, sort=True)).facts()
    gap_s = 4 * DAY_S - 5940
    assert facts["faults"]["ahead"] == 0
    assert facts["faults"]["missing"] == 2 * (round(gap_s / 60) - 1)
    assert facts["missing_s"] == pytest.approx(2 * (gap_s - 90))


def test_a_sensor_that_falls_silent_is_named(tmp_path: Path) -> None:
    """What a sensor does not send any more is missing until the last sample of all."""
    random = np.random.default_rng(1)
    times = [np.arange(0, 6000, 60), np.arange(0, 3000, 60)]
    source = frame(
        tmp_path,
        node=np.repeat(["a", "b"], [t.size for t in times]),
        time_s=np.concatenate(times),
        power=random.uniform(50, 60, 150),
    )
    facts = check(open_source(source, sort=True)).facts()
    assert facts["faults"]["missing"] == 49
    assert facts["worst"] == [{"sensor": "b", "faults": 49, "most": "missing"}]


def test_values_that_hardly_move_are_no_stuck_sensor(tmp_path: Path) -> None:
    """Where most samples repeat the one before, stuck sensors cannot be told, which is said; a time given insists."""
    time_s = np.arange(0, 60000.0, 60)
    source = frame(tmp_path, node=np.zeros(1000, dtype=int), time_s=time_s, power=np.repeat([50.0, 60.0], 500))
    facts = check(open_source(source)).facts()
    assert facts["faults"]["stuck"] == 0
    assert "100 % of samples repeat the one before" in facts["remarks"][0]
    insisted = check(open_source(source), rules=Rules(stuck_s=3600.0)).facts()
    assert insisted["faults"]["stuck"] == 998
    assert not insisted["remarks"]


def test_no_power_while_a_job_runs_is_no_power(tmp_path: Path) -> None:
    """A sensor that says 0 W on a busy node is not believed; on a free one it is left alone."""
    work, series = world(whole=True)
    clean = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, DAY_S, series)
    clean.power_w[clean.code == 3] = 0.0
    write_samples(clean.frame(work.trace.jobs), tmp_path / "power.parquet")
    found = join(open_source(str(tmp_path / "power.parquet")), work, Split(300.0, IDLE_W))
    mine = clean.code == 3
    held = int(found.join.held(clean.code[mine], clean.time_s[mine], clean.time_s[mine] + 300.0).sum())
    assert found.reading.facts()["faults"]["zero"] == held > 0
    first = work.placed.first[np.argsort(work.placed.job)] == 0
    np.testing.assert_allclose(found.profiles.coverage, np.where(first, 7 / 8, 1.0), atol=1e-9)
    np.testing.assert_allclose(found.trace.jobs.draw_w, [series.of(j).mean() for j in range(len(first))], rtol=0.02)


def test_components_are_added_up_and_counted_apart(tmp_path: Path) -> None:
    """A bad component spoils the sum, and the report says which it was."""
    random = np.random.default_rng(1)
    cpu, memory = random.uniform(0.05, 0.06, 100), random.uniform(0.01, 0.02, 100)
    cpu[7], memory[30], memory[31] = -0.01, np.nan, np.nan
    source = frame(
        tmp_path, node=np.zeros(100, dtype=int), time_ms=np.arange(100) * 560.0, cpu_kw=cpu, memory_kw=memory
    )
    reading = check(open_source(source))
    facts = reading.facts()
    assert facts["power"] == ["cpu_kw", "memory_kw"]
    assert facts["period_s"] == pytest.approx(0.56)
    assert facts["components"] == {"cpu_kw": {"nan": 0, "negative": 1}, "memory_kw": {"nan": 2, "negative": 0}}
    assert (facts["faults"]["nan"], facts["faults"]["negative"], facts["good"]) == (2, 1, 97)
    alone = check(open_source(source), Wanted(power=("memory_kw",))).facts()
    assert (alone["faults"]["nan"], alone["faults"]["negative"]) == (2, 0)


def test_shares_of_faults_are_read_and_refused() -> None:
    """A text of classes and shares; typing errors are answered with the class that was meant."""
    assert parse_faults("nan=0.01, late=0.002") == {Fault.NAN: 0.01, Fault.LATE: 0.002}
    assert set(parse_faults("all=0.001")) == set(CLASSES)
    for text, told in (
        ("nann=0.1", "did you mean 'nan'"),
        ("nan", "nan=0.001"),
        ("nan=2", "nan=2"),
        ("late=x", "late=x"),
    ):
        with pytest.raises(InputError, match=told):
            parse_faults(text)


def test_every_fault_has_words() -> None:
    """No class of fault is without an answer."""
    assert list(WHAT) == list(Fault)


def test_a_last_sample_from_the_future_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clock far ahead, in a window of its own at the very end, makes no sensor silent."""
    work, series = world()
    clean = draw_samples(work, energy_of(work.trace.jobs, series), Plan(noise=0.02), 0.0, DAY_S, series)
    more = clean.frame(work.trace.jobs)
    monkeypatch.setattr(telemetry_source, "ROWS", more.height)
    stray = more.tail(1).with_columns(pl.col("time_s") + 99 * DAY_S)
    pl.concat([more, stray]).write_parquet(tmp_path / "power.parquet")
    found = join(open_source(str(tmp_path / "power.parquet")), work, Split(300.0), window=more.height)
    assert {k: v for k, v in found.reading.facts()["faults"].items() if v} == {"ahead": 1}


@pytest.mark.parametrize("nodes", [2, 3, 8])
@pytest.mark.parametrize("ahead_s", [400.0, 3000.0, 3600.0])
@pytest.mark.parametrize("which", ["one sample", "one clock"])
def test_a_clock_that_is_ahead_costs_its_own_samples_only(
    which: str, ahead_s: float, nodes: int, tmp_path: Path
) -> None:
    """Minutes and hours ahead, once or for ever: nobody else's samples are late by that."""
    steps = np.arange(100)
    node, step = np.tile(np.arange(nodes), steps.size), np.repeat(steps, nodes)
    wrong = (node == 0) & ((step == 50) if which == "one sample" else (step >= 0))
    time_s = 10.0 * step + np.where(wrong, ahead_s, 0.0)
    path = frame(tmp_path, time_s=time_s, node=node, power_w=100.0 + (7 * step + node) % 31)
    facts = check(open_source(path)).facts()
    found = {k: v for k, v in facts["faults"].items() if v}
    assert found == {"ahead": int(wrong.sum()), "missing": int(wrong.sum())}
    assert facts["missing_s"] == (990.0 if which == "one clock" else 5.0)  # from the first to the last; beyond the hold


def test_a_clock_that_is_set_back_is_not_taken_for_the_others_being_ahead(tmp_path: Path) -> None:
    """Of two sensors one goes back by ten minutes: its samples are dropped until they catch up, the other's count."""
    step = np.repeat(np.arange(200), 2)
    node = np.tile([0, 1], 200)
    time_s = 10.0 * step - np.where((node == 1) & (step >= 100), 600.0, 0.0)
    path = frame(tmp_path, time_s=time_s, node=node, power_w=100.0 + (7 * step + node) % 31)
    faults = check(open_source(path)).facts()["faults"]
    assert (faults["clock"], faults["ahead"], faults["too-late"]) == (100, 0, 0)
