"""The page on the bus says what the program does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from test_docs_commands import ROOT, follow

from wattline.live.bus.inbox import REASONS
from wattline.live.bus.messages import decode
from wattline.live.bus.settings import BusSettings

PAGE = (ROOT / "docs/live/bus.md").read_text()


def test_the_page_works(tmp_path: Path) -> None:
    """Its commands make the keys, passwords and files that it names."""
    assert len(follow("live/bus.md", tmp_path)) == 2
    assert len(list((tmp_path / "keys/secret").glob("*.key"))) == 36
    assert {path.name for path in (tmp_path / "broker").iterdir()} == {"secret", "mosquitto.acl", "mosquitto.passwords"}


def test_what_the_page_shows_is_taken() -> None:
    """Its settings are settings, its message is a message, and every reason to drop one is told."""
    sections = [tomllib.loads(body)["bus"] for body in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    assert [BusSettings(site="demo", **section).kind for section in sections] == ["zeromq", "zeromq", "mqtt"]
    message = decode(re.findall(r"```json\n(.*?)\n```", PAGE)[0].encode())
    assert (message.kind, message.body["lease"]) == ("cap", 10.0)
    assert all(f"`{reason}`" in PAGE for reason in REASONS)
