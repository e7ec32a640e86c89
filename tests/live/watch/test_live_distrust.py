"""Nodes whose meters disagree, as a controller counts and shows them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from wattline.live.controller.seen.meters import Meters
from wattline.live.watch.document import Document
from wattline.live.watch.view import lines


def _status(watts: float, *faults: str) -> dict[str, Any]:
    body = {"w": watts, "age": 0.5, "cap_w": 300.0, "safe_w": 180.0, "term": 1, "mode": "led"}
    return body | {"faults": list(faults)}


def test_a_node_is_distrusted_as_long_as_its_agent_says_so() -> None:
    """The power of a node is what its agent tells, the larger reading; it is counted while the word comes and it is
    heard.
    """
    meters = Meters(("a", "b"), np.full(2, 400.0))
    meters.take("a", _status(290.0, "meters-disagree"), 10.0)
    meters.take("b", _status(200.0), 10.0)
    assert meters.distrusted(10.0) == 1
    assert meters.node_w(10.0)[0].tolist() == [290.0, 200.0]
    assert meters.faults == {"meters-disagree": 1}
    assert meters.distrusted(100.0) == 0
    meters.take("a", _status(290.0), 101.0)
    assert meters.distrusted(101.0) == 0


def test_status_shows_nodes_whose_meters_disagree() -> None:
    """A line says on how many nodes and what is done; none where all agree. Documents of older controllers are read."""
    shown = [text for text, _ in lines(Document("s", 1.0, nodes={"led": 4}, distrusted=3))]
    assert any("meters disagree on 3: the larger reading of each counts" in text for text in shown)
    assert not any("disagree" in text for text, _ in lines(Document("s", 1.0, nodes={"led": 4})))
    assert Document.from_json(Document("s", 1.0, distrusted=3).to_json()).distrusted == 3
    old = json.loads(Document("s", 1.0).to_json())
    del old["distrusted"]
    assert Document.from_json(json.dumps(old)).distrusted == 0
