"""The fluid model of contention: fairness, ends, and how well it says what packets do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wattline.errors import InputError
from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.contention import Calibration, finish_times, max_min_rates, neighbour_slowdowns, slowdowns
from wattline.physics.link_loads import capacities, share_table

PLAIN = Calibration(waiting=0.0, hop=0.0)
DEMANDS = arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.sampled_from([0.0, 0.5, 1.0, 3.0, 8.0])
)


@settings(deadline=None)
@given(DEMANDS, st.data())
def test_rates_are_max_min_fair(demand: np.ndarray, data: st.DataObject) -> None:
    """No link is overfull, and whoever is slowed down uses a full link on which nobody goes faster."""
    room = np.array(
        data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=demand.shape[1], max_size=demand.shape[1]))
    )
    rates = max_min_rates(demand, room)
    used = rates @ demand
    assert (used <= room * (1 + 1e-6)).all()
    assert ((rates > 0) & (rates <= 1)).all()
    for j in np.flatnonzero(rates < 1):
        full = (demand[j] > 0) & (used >= room * (1 - 1e-6))
        assert any((rates[demand[:, x] > 0] <= rates[j] * (1 + 1e-6)).all() for x in np.flatnonzero(full))


def test_jobs_that_share_nothing_are_not_slowed() -> None:
    """Without a common link, and within its bandwidth, a job goes at full speed."""
    shares = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert slowdowns(shares, np.array([1.0, 1.0]), np.ones(2), PLAIN).tolist() == [1.0, 1.0]
    assert slowdowns(shares, np.array([4.0, 1.0]), np.ones(2), PLAIN).tolist() == [2.0, 1.0]


def test_an_end_makes_the_others_faster() -> None:
    """Two jobs share a link that holds one: half speed while both are there, full speed after the shorter one's end."""
    ends = finish_times(np.ones((2, 1)), np.array([10.0, 30.0]), np.array([10.0, 30.0]), np.ones(1), PLAIN)
    assert ends.tolist() == pytest.approx([20.0, 40.0])


def test_waiting_and_links_add_time() -> None:
    """A half-full link adds half of ``waiting`` for the share that crosses it, and each link crossed adds ``hop``."""
    slower = slowdowns(np.array([[1.0]]), np.array([0.5]), np.ones(1), Calibration(waiting=0.4, hop=0.1))
    assert slower.tolist() == pytest.approx([1 + 0.4 * 0.5 + 0.1])


def test_it_knows_which_placement_is_better() -> None:
    """For a mix of jobs, the model and the packet engine agree on what spreading and grouping do to small and large
    jobs.
    """
    from wattline.physics.packets.jobs import PacketJob
    from wattline.physics.packets.simulator import Simulator
    from wattline.policies.place.allocate import allocate

    network = Dragonfly(4, 4, 17)
    sizes, pattern = np.array([16] * 6 + [64] * 2), "halo3d"
    real, ideal = Simulator(network, crossbar=4.0), Simulator(Dragonfly(4, 4, 17, local_bps=8e12, global_bps=8e12))
    alone = {n: ideal.run([PacketJob(np.arange(n), pattern)]).communication_s[0] for n in (16, 64)}
    ratios = []
    for policy in ("lowest", "level-spread", "rdn", "rrr"):
        free, placed = np.ones(272, dtype=bool), []
        for i, n in enumerate(sizes.tolist()):
            placed.append(allocate(policy, network, free, n, 1, job=i))
            free[placed[-1]] = False
        packets = real.run([PacketJob(nodes, pattern, seed=i) for i, nodes in enumerate(placed)])
        volume = np.array([job.bytes for job in packets.jobs], dtype=float)
        fluid = finish_times(
            share_table(network, placed),
            volume,
            np.array([alone[n] for n in sizes.tolist()]),
            capacities(network).ravel(),
        )
        ratios += [(fluid[sizes == n].mean(), packets.communication_s[sizes == n].mean()) for n in (16, 64)]
    error = [model / packet - 1 for model, packet in ratios]
    assert np.mean(np.abs(error)) < 0.25
    small, large = np.array(ratios[0::2]), np.array(ratios[1::2])
    for table in (small, large):  # the same order of placements wherever they differ by more than 10 %
        for i in range(4):
            for k in range(4):
                if table[i, 1] > 1.1 * table[k, 1]:
                    assert table[i, 0] > table[k, 0]


def test_bad_calibrations_are_refused() -> None:
    """A link cannot carry more than it can."""
    with pytest.raises(InputError, match="0 < efficiency <= 1"):
        Calibration(efficiency=1.2)


def test_a_job_that_never_communicates_is_not_slowed() -> None:
    """It sends nothing in no part of its time: its neighbours' full links are nothing to it."""
    network = Dragonfly(2, 2, 5)
    placed = [np.arange(0, 12, 2), np.arange(1, 12, 2)]
    slower = neighbour_slowdowns(network, placed, np.array([0.0, 1e12]), np.array([0.0, 0.5]))
    assert slower[0] == 1.0
    assert slower[1] > 1.0
