"""[network] in scenarios: networks from texts, what jobs send, and placement on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wattline.api.assumptions import remarks
from wattline.errors import InputError
from wattline.model.networks import from_entry, network_entry, network_text, parse_network
from wattline.model.networks.base import Network
from wattline.model.networks.dragonfly import Dragonfly
from wattline.model.networks.fat_tree import FatTree
from wattline.model.networks.flat import Flat
from wattline.scenario import read_scenario, variants, wire

SCENARIO = """
[trace]
generator = "poisson"
jobs = 60

[[trace.type]]
name = "halo"
nodes = 40
mean = "10 min"
rate = "30/h"

[[trace.type]]
name = "small"
nodes = 6
mean = "5 min"
rate = "200/h"

[network]
topology = "dragonfly:4x4x17:circulant"
global = "2 Gbit/s"
window = "30 s"

[[network.job]]
kind = "halo"
traffic = "500 MB/s"
sensitive = true

[policy]
place = "level-spread"
"""


def read(tmp_path: Path, *overrides: str, text: str = SCENARIO) -> Any:
    """Write a scenario and wire it."""
    path = tmp_path / "net.toml"
    path.write_text(text)
    return wire(variants(read_scenario(path, overrides))[0])


@pytest.mark.parametrize(
    "network",
    [Dragonfly(4, 4, 17), Dragonfly(4, 8, 33, "relative", global_bps=32e9), FatTree(16, 20, 8, spine_bps=1e9), Flat(7)],
)
def test_networks_survive_as_text(network: Network) -> None:
    """A network written as text, or into a journal, is the same network when it is read again."""
    assert from_entry(network_entry(network)) == network
    assert network_text(parse_network(network_text(network))) == network_text(network)


def test_a_scenario_wires_its_network(tmp_path: Path) -> None:
    """The machine is as large as its network, whose bandwidths and senders reach the run and the journal."""
    study = read(tmp_path)
    assert study.cluster.network == Dragonfly(4, 4, 17, "circulant", global_bps=2e9)
    assert study.cluster.nodes == 272
    sent = study.options.communication
    assert [(c.kind, c.bytes_per_s, c.sensitive) for c in sent] == [("halo", 5e8, True)]
    assert study.options.traffic_s == 30.0
    result = study.simulate()
    study.write(result, tmp_path / "out")
    from wattline.journal.journal import read_manifest

    assert from_entry(read_manifest(tmp_path / "out")["cluster"]["network"]) == study.cluster.network


def test_a_machine_may_be_smaller_than_its_network(tmp_path: Path) -> None:
    """Ports beyond the last node stay empty."""
    study = read(tmp_path, "cluster.nodes=250")
    assert study.cluster.nodes == 250
    result = study.simulate()
    assert (result.logs["px_first"] + result.logs["px_count"]).max() <= 250


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("network.topology=dragonfly:4x4x16", "use 13 or 17 groups"),
        ("network.topology=dragonfli:4x4x17", "did you mean 'dragonfly'"),
        ("network.topology=dragonfly:4x4", "a dragonfly is written dragonfly:NODESxROUTERSxGROUPS"),
        ("network.topology=dragonfly:4x-4x17", "a dragonfly is written"),
        ("network.topology=fat-tree:4x4x17:relative", "only the sizes of a dragonfly"),
        ("network.topology=fat-tree:16x20x8", "a fat-tree has no bandwidth 'global'; it has: spine, host"),
        ("network.global=0", "global_bps must be a bandwidth above 0"),
        ("network.global=8 Gbyte", "unknown unit 'Gbyte'"),
        ("network.window=0", "at least 0.001 s"),
        ("cluster.nodes=273", "room for 272 nodes, the cluster has 273"),
        ("network.job.0.traffic=-1", "must not be negative"),
    ],
)
def test_bad_networks_are_refused_where_they_stand(tmp_path: Path, override: str, said: str) -> None:
    """What cannot be is refused in one line that names the key."""
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, override)
    assert "\n" not in str(caught.value)
    assert "net.toml" in str(caught.value) or "--set" in str(caught.value)


def test_a_sender_that_no_job_is_like_is_told(tmp_path: Path) -> None:
    """It may be the kind of another log of a sweep, so the run goes on."""
    assert not any("no job is of kind" in line for line in remarks(read(tmp_path)))
    (line,) = (line for line in remarks(read(tmp_path, "network.job.0.kind=halos")) if "network" in line)
    assert line == "network: no job is of kind 'halos'; did you mean 'halo'?"
