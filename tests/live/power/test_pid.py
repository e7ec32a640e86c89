"""The PID against closed forms of a first-order plant, and against everything that goes wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from wattline.errors import InputError
from wattline.live.power.fakes.powercap import FakeNode, Plant, make_tree
from wattline.live.power.powercap import Powercap
from wattline.live.power.server.pid import Followed, Gains, Pid
from wattline.live.power.server.tune import FirstOrder, Record, checked, figures, gains_for, identify, respond

PLANT = FirstOrder(gain=1.3, lag_s=2.0, delay_s=0.0)


def test_cancelled_lag_gives_a_first_order_loop() -> None:
    """With kp = ki τ the closed loop is of first order: 10 to 90 % in ln 9 / (K ki), no overshoot, 5 % after ln 20 / (K
    ki).
    """
    ki = 0.3
    times, powers = [0.0], [0.0]
    pid = Pid(Gains(kp=ki * PLANT.lag_s, ki=ki), -math.inf, math.inf, target_weight=1.0)
    power = 0.0
    step_s = 0.001
    for i in range(30_000):
        power += (PLANT.gain * pid.step(i * step_s, 1.0, power) - power) * -math.expm1(-step_s / PLANT.lag_s)
        times.append((i + 1) * step_s)
        powers.append(power)
    got = figures(times, powers)
    assert got.rise_s == pytest.approx(math.log(9.0) / (PLANT.gain * ki), rel=0.01)
    assert got.overshoot_percent < 0.1
    assert got.settle_s == pytest.approx(math.log(20.0) / (PLANT.gain * ki), rel=0.01)


def test_an_integral_alone_rings_as_the_second_order_loop_does() -> None:
    """With kp = 0 the loop is of second order, ζ = 1/(2 √(K ki τ)), and overshoots by exp(-πζ/√(1-ζ²))."""
    gains = Gains(kp=0.0, ki=0.5)
    times, powers = respond(PLANT, gains, 0.01, 60.0)
    damping = 1.0 / (2.0 * math.sqrt(PLANT.gain * gains.ki * PLANT.lag_s))
    expected = 100.0 * math.exp(-math.pi * damping / math.sqrt(1.0 - damping**2))
    assert figures(times, powers).overshoot_percent == pytest.approx(expected, abs=1.0)


def test_the_published_controller_is_an_integral() -> None:
    """P = 0.4 added to the limit once a second, on a server that follows at once: the error is 1 - 0.4 K of the one
    before, every second.
    """
    pid, limit, error = Pid(Gains(ki=0.4), low=-math.inf, high=math.inf), 0.0, 100.0
    pid.step(0.0, 100.0, 0.0)
    for second in range(1, 5):
        limit = pid.step(float(second), 100.0, 1.29 * limit)
        assert 100.0 - 1.29 * limit == pytest.approx(error * (1.0 - 0.4 * 1.29))
        error *= 1.0 - 0.4 * 1.29


def test_uneven_periods_add_up_to_the_same() -> None:
    """An error that lasts adds up by time, not by the number of steps."""
    outputs = []
    for steps in ([1.0, 2.0, 3.0], [0.5, 0.6, 2.9, 3.0]):
        pid = Pid(Gains(ki=0.4))
        pid.step(0.0, 10.0, 5.0, lead=50.0)
        outputs.append([pid.step(t, 10.0, 5.0, lead=50.0) for t in steps][-1])
    assert outputs == [pytest.approx(56.0), pytest.approx(56.0)]


def test_a_bound_is_left_at_once_when_the_error_turns() -> None:
    """Nothing is wound up at a bound: the first error of the other sign moves the output."""
    pid = Pid(Gains(ki=0.4), low=20.0, high=100.0)
    for t in range(100):
        assert pid.step(float(t), 500.0, 100.0, lead=90.0) <= 100.0
    assert pid.step(100.0, 100.0, 110.0, lead=90.0) == pytest.approx(96.0)
    for t in range(101, 200):
        assert pid.step(float(t), 0.0, 100.0, lead=90.0) >= 20.0
    assert pid.step(200.0, 110.0, 100.0, lead=90.0) == pytest.approx(24.0)


def test_unused_power_is_not_added_up() -> None:
    """A server that draws less than its cap because it has nothing to do does not raise its limit; one that draws more
    lowers it all the same.
    """
    pid = Pid(Gains(ki=0.4))
    for t in range(50):
        assert pid.step(float(t), 250.0, 90.0, lead=140.0, may_rise=False) == 140.0
    assert pid.step(50.0, 250.0, 260.0, lead=140.0, may_rise=False) == pytest.approx(136.0)


@pytest.mark.parametrize("gains", [Gains(kp=0.5, ki=0.1), Gains(kp=0.5, ki=0.1, kd=0.3)])
def test_a_step_of_the_target_does_not_kick(gains: Gains) -> None:
    """The target enters through the integral only: at its step the output moves by ki e dt."""
    pid = Pid(gains, -math.inf, math.inf)
    pid.step(0.0, 100.0, 100.0, lead=80.0)
    before = pid.step(1.0, 100.0, 100.0, lead=80.0)
    assert pid.step(1.01, 200.0, 100.0, lead=80.0) - before == pytest.approx(0.1 * 100.0 * 0.01)


def test_the_first_output_is_the_one_in_force() -> None:
    """A controller that takes over begins with the limit that it found."""
    pid = Pid(Gains(kp=0.5, ki=0.1))
    pid.reset(133.0)
    assert pid.step(0.0, 200.0, 180.0, lead=120.0) == pytest.approx(133.0)


def test_nothing_to_go_by_holds_the_output() -> None:
    """Without a reading (NaN, also of the target) the output stays, and the first reading after it makes no slope."""
    pid = Pid(Gains(kp=0.2, ki=0.4, kd=0.5), -math.inf, math.inf)
    for t in range(4):
        held = pid.step(float(t), 100.0, 90.0 + t, lead=70.0)
    slope = 0.5 * 1.0
    for t in range(4, 9):
        assert pid.step(float(t), 100.0, math.nan, lead=70.0) == pytest.approx(held + slope)
        assert pid.step(float(t), math.nan, 93.0, lead=70.0) == pytest.approx(held + slope)
    assert pid.step(1000.0, 100.0, 93.0, lead=70.0) == pytest.approx(held + slope)


def test_clocks_that_jump_do_no_harm() -> None:
    """A step back of the clock adds nothing; after an hour's pause an error counts for five seconds at most."""
    pid = Pid(Gains(ki=0.4))
    pid.step(100.0, 100.0, 90.0, lead=70.0)
    assert pid.step(50.0, 100.0, 90.0, lead=70.0) == pytest.approx(70.0)
    assert pid.step(3650.0, 100.0, 90.0, lead=70.0) == pytest.approx(70.0 + 0.4 * 10.0 * 5.0)


def test_a_lying_sensor_moves_the_limit_only_so_far() -> None:
    """The output stays within reach of what the model says."""
    pid = Pid(Gains(ki=0.4), reach=25.0)
    for t in range(100):
        assert pid.step(float(t), 200.0, 20.0, lead=140.0) <= 165.0
    assert pid.step(100.0, 200.0, 20.0, lead=100.0) == 125.0


def test_what_is_followed_is_a_mean_over_the_window() -> None:
    """The mean since the last question is exact for a first-order lag whose goal changed meanwhile."""
    followed = Followed(lag_s=0.5)
    followed.set(0.0, 100.0)
    followed.set(1.0, 200.0)
    assert followed.mean(2.0) == pytest.approx((100.0 + 200.0 - 100.0 * 0.5 * (1.0 - math.exp(-2.0))) / 2.0)
    followed.set(2.0, math.nan)
    assert math.isnan(followed.mean(3.0))


@pytest.mark.parametrize(("lag_s", "delay_s"), [(0.0, 0.0), (0.4, 0.0), (2.0, 0.0), (1.5, 1.0)])
def test_a_recorded_step_tells_its_plant(lag_s: float, delay_s: float) -> None:
    """Gain, time constant and dead time of a recorded step are found again."""
    times = [i / 10.0 for i in range(300)]
    limits = [100.0 if t < 10.0 else 160.0 for t in times]

    def power(t: float) -> float:
        gone = max(0.0, t - 10.0 - delay_s)
        return 80.0 + 1.3 * (100.0 + (60.0 * -math.expm1(-gone / lag_s) if lag_s else 60.0 * (gone > 0.0)))

    found = identify(Record(times, limits, [power(t) for t in times]))
    assert found.gain == pytest.approx(1.3, rel=0.01)
    assert found.lag_s == pytest.approx(lag_s, abs=0.1)
    assert found.delay_s == pytest.approx(delay_s, abs=0.15)


@pytest.mark.parametrize("lag_s", [5.0, 10.0])
def test_a_slow_plant_is_not_taken_for_a_quicker_one_with_a_dead_time(lag_s: float) -> None:
    """The record is that of a plant without a dead time, to the last digit: nothing may be left of it."""
    half_s, step_s = 4.0 * lag_s, 0.1
    times = [step_s * i for i in range(round(4 * half_s / step_s))]
    limits = [150.0 if int(t // half_s) % 2 == 0 else 220.0 for t in times]
    powers = [60.0 + 1.29 * limits[0]]
    for limit_w in limits[:-1]:
        powers.append(powers[-1] + (60.0 + 1.29 * limit_w - powers[-1]) * -math.expm1(-step_s / lag_s))
    found = identify(Record(times, limits, powers))
    assert (found.gain, found.lag_s, found.delay_s) == pytest.approx((1.29, lag_s, 0.0), rel=2e-3)
    assert found.error_w < 0.02


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (Record([0.0, 1.0], [1.0, 9.0], [1.0, 2.0]), "needs 20 or more"),
        (Record([0.0] * 30, [1.0] * 30, [1.0] * 30), "must rise"),
        (Record([float(i) for i in range(30)], [50.0] * 30, [1.0] * 30), "no step"),
    ],
)
def test_records_that_show_nothing_are_refused(record: Record, told: str) -> None:
    """A record without a step says nothing about a plant."""
    with pytest.raises(InputError, match=told):
        checked(record)


@pytest.mark.parametrize("plant", [FirstOrder(1.29, 0.3, 0.0), FirstOrder(1.35, 2.0, 0.5), FirstOrder(1.0, 0.0, 0.0)])
def test_tuned_gains_are_quick_and_calm(plant: FirstOrder) -> None:
    """The gains that tuning gives settle within twelve dead times and overshoot by a tenth at most, at one reading a
    second.
    """
    got = figures(*respond(plant, gains_for(plant, 1.0), 1.0, 60.0))
    assert got.overshoot_percent <= 10.0
    assert got.settle_s <= 12.0 * (plant.delay_s + 1.0)


def test_the_loop_on_a_plant_holds_a_server_cap_that_the_model_gets_wrong(tmp_path: Path) -> None:
    """With a model that is 8 % off, a noisy server is at its cap within 6 s, and its mean stays within 1 % of it."""
    root = make_tree(tmp_path / "tree")
    with Plant([FakeNode("n", root)], lag_s=0.3, noise_w=2.0, seed=1) as plant:
        hardware = Powercap(root)
        pid = Pid(Gains(), *hardware.bounds_w(), target_weight=1.0)
        plant.busy("n", 320.0, 120.0)
        lead_w = plant.model.cpu_w(240.0 * 1.08, 12.0)
        hardware.set_limit(lead_w)
        watts = []
        for second in range(40):
            for i in range(10):
                plant.step(second + i / 10.0)
            reading = hardware.read(float(second) + 0.9)
            server_w = math.nan if reading is None else plant.model.server_w(reading.cpu_w, reading.memory_w)
            hardware.set_limit(pid.step(float(second), 240.0, server_w, lead=lead_w))
            watts.append(server_w)
        assert max(watts[6:]) <= 240.0 + 6.0
        assert sum(watts[6:]) / len(watts[6:]) == pytest.approx(240.0, rel=0.01)
