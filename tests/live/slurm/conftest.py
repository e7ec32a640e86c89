"""One Slurm for all tests of a worker that need a real one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from wattline.demo.slurm_cluster import SlurmCluster, why_not


@pytest.fixture(scope="session")
def cluster() -> Iterator[SlurmCluster]:
    """Run a Slurm of twelve nodes, two partitions."""
    why = why_not()
    if why:
        pytest.skip(why)
    # not in pytest's own folder: names of sockets have at most 108 letters
    with tempfile.TemporaryDirectory(prefix="wattline-slurm-") as folder:
        Path(folder).chmod(0o755)  # other users submit, too
        made = SlurmCluster(
            Path(folder),
            nodes=12,
            partitions=("PartitionName=small Nodes=n[01-04] OverSubscribe=EXCLUSIVE",),
            task_prolog=Path(__file__).parents[3] / "examples" / "live" / "task-prolog.sh",
        )
        with made.running():
            yield made
        assert made.left() == []
