"""Jobs beside each other by packets and by the fast model: alone they agree, and crowded they agree on who suffers."""

from __future__ import annotations

import numpy as np
import pytest

from wattline.model.networks.dragonfly import Dragonfly
from wattline.physics.packets.beside import Stage, Talker

NETWORK = Dragonfly(4, 2, 5)


def test_a_job_alone_on_wide_links_is_not_slowed() -> None:
    """One job in one router's reach takes what it takes with links that never fill, by packets and by the model."""
    found = Stage(NETWORK).run([Talker(np.arange(4), 5e7, 0.2, "halo2d")])
    assert found.model.tolist() == [1.0]
    assert found.packets[0] == pytest.approx(1.0, abs=0.03)
    assert found.bytes_per_s[0] == pytest.approx(5e7, rel=0.5)


def test_packets_and_model_agree_on_crowded_links() -> None:
    """Where two jobs share the one link between two groups both find them slower, within a third of each other."""
    halves = [np.r_[0:4, 8:12], np.r_[4:8, 12:16]]
    stage = Stage(NETWORK)
    crowded = stage.run([Talker(nodes, 3e8, 0.6) for nodes in halves])
    alone = stage.run([Talker(halves[0], 3e8, 0.6)])
    assert (crowded.packets > 1.2).all()
    assert (crowded.model > 1.2).all()
    assert np.abs(crowded.errors).max() < 1 / 3
    assert alone.packets[0] < crowded.packets[0]
    assert alone.model[0] < crowded.model[0]


def test_the_same_seed_gives_the_same_slowdowns() -> None:
    """Mappings and phases come from the seed."""
    talkers = [Talker(np.arange(0, 16, 2), 1e8, 0.3), Talker(np.arange(1, 16, 2), 1e8, 0.3, "random-ring")]
    once, again = (Stage(NETWORK).run(talkers, seed=7).packets for _ in range(2))
    assert once.tolist() == again.tolist()
