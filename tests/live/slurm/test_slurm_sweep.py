"""A sweep whose workers are jobs of a real Slurm."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import wattline as wl
from wattline.demo.slurm_cluster import SlurmCluster, why_not

PATIENCE_S = 60.0

SCENARIO = """\
name = "small"
[trace]
generator = "lublin"
jobs = 40
load = 0.8
[cluster]
nodes = 16
"""


def test_a_sweep_on_slurm_leaves_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``on="slurm"`` starts its workers by sbatch, ends them, and leaves what threads leave."""
    pytest.importorskip("dask_jobqueue")
    why = why_not()
    if why:
        pytest.skip(why)
    (tmp_path / "s.toml").write_text(SCENARIO)
    sweep = wl.load(tmp_path / "s.toml").vary({"trace.load": [0.5, 0.7]}, seeds=2)
    with tempfile.TemporaryDirectory(prefix="wattline-slurm-") as folder:
        Path(folder).chmod(0o755)
        cluster = SlurmCluster(Path(folder), nodes=2, held_at_entry=False)
        with cluster.running():
            for name, value in cluster.environment.items():
                monkeypatch.setenv(name, value)
            monkeypatch.chdir(folder)
            found = sweep.run(on="slurm", threads=1, progress=False)
            end = time.monotonic() + PATIENCE_S
            while cluster.command("squeue", "--noheader").stdout.strip():
                assert time.monotonic() < end, "its workers end"
                time.sleep(0.2)
        while cluster.left():
            assert time.monotonic() < end, "nothing of it is left"
            time.sleep(0.2)
    assert_frame_equal(found, sweep.run(progress=False))
