"""The Grid Workload Format: logs of the Grid Workloads Archive."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from wattline.formats.jobs.base import Head, Likeness, ReadOptions

if TYPE_CHECKING:
    from wattline.reading.notes import Trace

FIELDS = (
    "JobID",
    "SubmitTime",
    "WaitTime",
    "RunTime",
    "NProcs",
    "AverageCPUTimeUsed",
    "UsedMemory",
    "ReqNProcs",
    "ReqTime",
    "ReqMemory",
    "Status",
    "UserID",
    "GroupID",
    "ExecutableID",
    "QueueID",
    "PartitionID",
    "OrigSiteID",
    "LastRunSiteID",
    "JobStructure",
    "JobStructureParams",
    "UsedNetwork",
    "UsedLocalDiskSpace",
    "UsedResources",
    "ReqPlatform",
    "ReqNetwork",
    "ReqLocalDiskSpace",
    "ReqResources",
    "VOID",
    "ProjectID",
)
"""The 29 fields of a record, in order."""
_FIRST_FIVE = re.compile(rb"\s*(?:[+-]?\d+(?:\.\d*)?\s+){5}")


class Gwf:
    """Lines of 29 fields between blanks or tabs, below a header of comments."""

    name = "gwf"
    about = "Grid Workload Format, as in the Grid Workloads Archive (text)"
    in_parts = True

    def looks_like(self, head: Head) -> Likeness:
        """Tell by the number of fields, the first five of which are numbers."""
        own = len(head.line.split()) == len(FIELDS) and _FIRST_FIVE.match(head.line)
        return Likeness.SURE if own else Likeness.NO

    def read(self, path: Path | str, options: ReadOptions) -> Trace:
        """Read a file."""
        from wattline.formats.jobs.gwf.read import read_gwf

        return read_gwf(path, strict=options.strict, cores_per_node=options.cores_per_node, nodes=options.nodes)


FORMAT = Gwf()
