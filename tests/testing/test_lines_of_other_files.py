"""What is wrong where a policy calls other code is told at the policy's own line, never at the number of another
file's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.worlds import cluster, run, table
from wattline.control.catalog import find
from wattline.errors import PolicyError
from wattline.kernel.compiled import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="about compiled policies")

CALLS = {
    "a helper of Wattline": ("import wattline as wl", "wl.propose(s, 0, 'job')"),
    "a helper from another file": ("from numba import njit\nfrom beside import broken\n", "broken(s)"),
}
BESIDE = "from numba import njit\n" + "\n" * 40 + "@njit\ndef broken(s):\n    return s.nothing_of_the_kind[0]\n"


@pytest.mark.parametrize("case", CALLS)
def test_errors_in_other_files_are_told_at_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """A call that numba cannot compile, since something is wrong with it in another file, is named by file, line and
    text of the policy that makes it.
    """
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "beside.py").write_text(BESIDE)
    head, call = CALLS[case]
    file = tmp_path / "mine.py"
    source = (
        f"{head}\nfrom wattline import policy\n\n@policy('select', compiled=True)\n"
        f"def p(s, arg, param, memory):\n    {call}\n    return 0\n"
    )
    file.write_text(source)
    with pytest.raises(PolicyError) as caught:
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), select=find("select", str(file)))
    lines = source.split("\n")
    at = next(i for i, line in enumerate(lines, start=1) if call in line)
    first = next(i for i, line in enumerate(lines, start=1) if "@policy" in line)
    told = str(caught.value)
    assert "\n" not in told
    assert told.startswith((f"{file}:{at} ({call}): policy 'p'", f"{file}:{first}: policy 'p'")), told
