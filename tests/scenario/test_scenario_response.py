"""``response`` of a kind: by name or from a file, refused in one line with the key, kept in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.errors import InputError
from wattline.scenario import Study, read_scenario, variants, wire

TEXT = """\
[trace]
generator = "kinds"
duration = "10 min"
[cluster]
nodes = 4
idle = "50 W"
max = "250 W"
[policy]
cap = "under-limit"
[limit]
steps = [["0 s", "off"], ["60 s", "640 W"], ["5 min", "820 W"]]
[[kind]]
name = "lu"
nodes = 2
time = "60 s"
power = "200 W"
floor = "100 W"
longest = "2 min"
rate = "60/h"
"""


def study(folder: Path, text: str = TEXT) -> Study:
    """Write and wire a scenario."""
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml"))[0])


def test_linear_is_what_a_kind_has_that_says_nothing(tmp_path: Path) -> None:
    """`response = "linear"` names the default: kinds are the same, and only then is the scenario another."""
    plain, named = study(tmp_path), study(tmp_path, TEXT.replace("rate", 'response = "linear"\nrate'))
    assert plain.options.kinds == named.options.kinds
    assert plain.options.kinds[0].response == ()
    assert plain.scenario_sha256 != named.scenario_sha256
    assert "response" not in plain.tables(plain.simulate())[1]["kinds"][0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rate", 'response = "liner"\nrate'), "s.toml:19: [kind] response: unknown response to caps 'liner'; did you"),
        (('power = "200 W"\n', ""), "[kind] power: is missing: give the power per node without a cap, or a file"),
        (("rate", 'response = "q.csv"\nrate'), "[kind] power: the file of response, q.csv, says it"),
    ],
)
def test_what_is_no_response_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    """A name that there is not, and keys that are missing or said twice, are named with their line."""
    with pytest.raises(InputError) as caught:
        study(tmp_path, TEXT.replace(*change))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
