"""What a demonstration tells of the machine's power: by time, however uneven the samples are."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.demo.beside import drawn_j


def test_energy_is_by_time() -> None:
    """Power holds until the next sample; the first holds from before it, the last until the end."""
    time_s, power_w = np.array([10.0, 11.0, 11.5, 20.0]), np.array([100.0, 500.0, 500.0, 200.0])
    assert drawn_j(time_s, power_w, 10.0, 20.0) == 100.0 + 500.0 * 9.0
    assert drawn_j(time_s, power_w, 0.0, 30.0) == 100.0 * 11.0 + 500.0 * 9.0 + 200.0 * 10.0
    assert drawn_j(time_s, power_w, 10.5, 10.75) == 25.0


@pytest.mark.parametrize("seed", range(5))
def test_energy_agrees_with_a_sum_over_milliseconds(seed: int) -> None:
    """The plain way: look at every millisecond which sample is the last."""
    rng = np.random.default_rng(seed)
    time_s = np.sort(rng.integers(0, 20_000, 30)) / 1000.0
    power_w = rng.uniform(100.0, 900.0, 30)
    from_ms, to_ms = sorted(rng.integers(0, 25_000, 2))
    plain_j = 0.0
    for ms in range(from_ms, to_ms):
        seen = [w for t, w in zip(time_s, power_w, strict=True) if t * 1000.0 <= ms + 0.5]
        plain_j += 1e-3 * (seen[-1] if seen else power_w[0])
    assert drawn_j(time_s, power_w, from_ms / 1000.0, to_ms / 1000.0) == pytest.approx(plain_j)
