"""The job_details_table of P-SLURM (thesis-OVP, table 5.3): rows of configurations as a database holds them, both ways.

Its columns are ``id`` (of the row), ``job_id`` (of the *application*), ``nodes``, ``cores`` (on each node), ``pkg_cap``
(of a socket, W), ``exec_time`` (s) and ``tot_pkg`` (of all nodes, W). Files: CSV, what ``mysql --batch`` prints (tabs),
or a dump with INSERT statements. Applications are numbers there; a second file, ``job_id,application``, has their
names. Nothing in it says which cap means turbo. ``formats.tables.dump`` reads the statements of a dump.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.model.configurations import Configurations
from wattline.reading.source import read_utf8

TABLE = "job_details_table"
COLUMNS = ("id", "job_id", "nodes", "cores", "pkg_cap", "exec_time", "tot_pkg")
NAMES = ("job_id", "application")
ROWS_A_STATEMENT = 500
_CREATE = f"""\
CREATE TABLE IF NOT EXISTS `{TABLE}` (
  `id` INT NOT NULL PRIMARY KEY,
  `job_id` INT NOT NULL,
  `nodes` INT NOT NULL,
  `cores` INT NOT NULL,
  `pkg_cap` DOUBLE NOT NULL,
  `exec_time` DOUBLE NOT NULL,
  `tot_pkg` DOUBLE NOT NULL,
  KEY `best` (`job_id`, `exec_time`, `tot_pkg`)
);
"""


def read_names(path: Path | str) -> dict[str, str]:
    """Return the names of applications by their number, from a CSV file with ``job_id`` and ``application``."""
    table = csv.reader(io.StringIO(read_utf8(path)))
    header = [cell.strip().lower() for cell in next(table, [])]
    if sorted(header) != sorted(NAMES):
        raise TraceError.at(path, f"the first line must be {','.join(NAMES)}", line=1, value=",".join(header))
    number, name = (header.index(column) for column in NAMES)
    found: dict[str, str] = {}
    for row in table:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(NAMES) or not all(cell.strip() for cell in row):
            raise TraceError.at(path, "expected a number and a name", line=table.line_num, value=",".join(row))
        key, text = row[number].strip(), row[name].strip()
        if key in found or text in found.values():
            what = f"job_id {key}" if key in found else f"application {text!r}"
            raise TraceError.at(path, f"{what} is there already", line=table.line_num)
        found[key] = text
    return found


def numbered(tables: Sequence[Configurations], ids: Mapping[str, str] | None = None) -> dict[str, int]:
    """Return a number for each application: those that are known (number → name), others after the highest of them."""
    known = {}
    for key, name in (ids or {}).items():
        if not key.isdigit():
            raise InputError(f"application {name!r}: job_id must be a whole number, got {key!r}")
        known[name] = int(key)
    following = max(known.values(), default=0) + 1
    found = {}
    for table in tables:
        if table.application not in known:
            known[table.application] = following
            following += 1
        found[table.application] = known[table.application]
    return found


def write_job_details(path: Path, tables: Sequence[Configurations], ids: Mapping[str, int]) -> int:
    """Write tables in the layout, as .csv, .tsv or .sql by the name of the file; return the number of rows."""
    rows = [
        (
            int(ids[t.application]),
            int(t.nodes[i]),
            int(t.cores[i]),
            *(repr(float(v[i])) for v in (t.cap_w, t.time_s, t.power_w)),
        )
        for t in tables
        for i in range(len(t))
    ]
    cells = [(str(number), *map(str, row)) for number, row in enumerate(rows, 1)]
    if path.suffix == ".sql":
        text = _CREATE + "".join(_inserts(cells))
    elif path.suffix in (".csv", ".tsv"):
        between = "," if path.suffix == ".csv" else "\t"
        text = "".join(between.join(row) + "\n" for row in (COLUMNS, *cells))
    else:
        raise InputError(f"{path}: end the name in .csv, .tsv or .sql")
    write_whole(path, text.encode())
    return len(cells)


def write_names(path: Path, ids: Mapping[str, int]) -> None:
    """Write the names of applications by their number."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerows([NAMES, *((number, name) for name, number in ids.items())])
    write_whole(path, out.getvalue().encode())


def _inserts(cells: Sequence[Sequence[str]]) -> Iterable[str]:
    columns = ", ".join(f"`{name}`" for name in COLUMNS)
    for first in range(0, len(cells), ROWS_A_STATEMENT):
        values = ",\n".join(f"({', '.join(row)})" for row in cells[first : first + ROWS_A_STATEMENT])
        yield f"INSERT INTO `{TABLE}` ({columns}) VALUES\n{values};\n"
