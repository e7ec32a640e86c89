"""The Python door as the documentation shows it: its page, the README's program, the notebooks."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path

import pytest
from test_docs_commands import BLOCK, ROOT, follow, works

import wattline as wl
from programs import python

PAGE = (ROOT / "docs/python.md").read_text()
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def test_the_page_works(tmp_path: Path) -> None:
    """Every program of the page runs, in order, in an empty folder."""
    follow("python.md", tmp_path)
    assert (tmp_path / "out/easy/manifest.json").exists()
    assert (tmp_path / "out/easy.html").stat().st_size > 1_000_000


@pytest.mark.parametrize(
    "name", ["read_trace", "draw_trace", "from_frame", "Machine", "simulate", "load", "policy", "check", "bid"]
)
def test_the_page_names_every_parameter(name: str) -> None:
    """Every parameter of a public function stands on the page, in its signature and in a table or sentence."""
    shown = re.search(rf"`wl\.{name}\(([^)]*)\)`", PAGE)
    assert shown is not None
    parameters = list(inspect.signature(getattr(wl, name)).parameters)
    assert [word.strip(" *") for word in shown[1].split(",") if word.strip(" *")] == parameters
    for parameter in parameters:
        assert f"`{parameter}`" in PAGE or name == "policy", parameter


def test_the_page_names_everything_that_is_offered() -> None:
    """Every name of ``import wattline`` is on the page."""
    missing = [name for name in wl.__all__ if not re.search(rf"\b{name}\b", PAGE) and not name.startswith("__")]
    assert missing in ([], ["BidResult", "Comparison"])  # classes that functions return


def test_the_program_of_the_readme_works(tmp_path: Path, data_dir: Path) -> None:
    """The README's ten lines, on the log they name."""
    text = (ROOT / "README.md").read_text().split("<!-- readme -->\n")[1]
    program = BLOCK.match(text)
    assert program is not None
    log = "KTH-SP2-1996-2.1-cln.swf.gz"
    (tmp_path / log).symlink_to(data_dir / "swf" / log)
    body = "import warnings; warnings.simplefilter('ignore')\n" + program["body"].replace(".show()", "")
    assert "wait, mean" in works(python(body, tmp_path)).out
    assert (tmp_path / "out/easy/manifest.json").exists()


def test_the_readme_fits_on_a_screen() -> None:
    """At most sixty lines, one picture."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 60
    assert text.count("![") == 1


def test_there_are_three_notebooks_without_results() -> None:
    """Notebooks are kept as they were written: no outputs, no counts."""
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert cells
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells), path.name


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of every notebook runs, in a folder of its own with the examples in it; each shows something."""
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebook")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra notebook")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any(output.output_type == "execute_result" for output in shown)
    assert not [output for output in shown if output.output_type == "error"]
