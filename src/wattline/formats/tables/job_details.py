"""The job_details_table of P-SLURM (thesis-OVP, table 5.3): rows of configurations as a database holds them, both ways.

Its columns are ``id`` (of the row), ``job_id`` (of the *application*), ``nodes``, ``cores`` (on each node), ``pkg_cap``
(of a socket, W), ``exec_time`` (s) and ``tot_pkg`` (of all nodes, W). Files: CSV, what ``mysql --batch`` prints (tabs),
or a dump with INSERT statements. Applications are numbers there; a second file, ``job_id,application``, has their
names. Nothing in it says which cap means turbo.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from wattline.errors import InputError, TraceError
from wattline.files import write_whole
from wattline.model.configurations import Configurations
from wattline.reading.source import read_utf8

TABLE = "job_details_table"
COLUMNS = ("id", "job_id", "nodes", "cores", "pkg_cap", "exec_time", "tot_pkg")
NAMES = ("job_id", "application")
ROWS_A_STATEMENT = 500
READ = "only CREATE TABLE and INSERT INTO … VALUES are read"

_NAME = r"(?:[`\"]?(\w+)[`\"]?\s*\.\s*)?[`\"]?(\w+)[`\"]?"
_UNDONE = re.compile(r"\s*ROLLBACK\b", re.IGNORECASE)
_USED = re.compile(r"\s*USE\s+[`\"]?(\w+)[`\"]?\s*$", re.IGNORECASE)
_LOOKS = re.compile(r"^\s*(?:INSERT|REPLACE)\s[^;,]*?INTO\s|^\s*CREATE\s+TABLE\s", re.IGNORECASE | re.MULTILINE)
_INSERT = re.compile(rf"\s*INSERT\s+INTO\s+{_NAME}\s*(?:\(([^)]*)\))?\s*VALUES\s*", re.IGNORECASE)
_CREATED = re.compile(rf"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*\(", re.IGNORECASE)
_DROPPED = re.compile(rf"\s*DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?{_NAME}\s*;?\s*$", re.IGNORECASE)
_IDLE = re.compile(
    r"\s*(?:SET|USE|LOCK|UNLOCK|BEGIN|START|COMMIT|PRAGMA|ALTER\s+TABLE\s+\S+\s+(?:DIS|EN)ABLE)\b", re.IGNORECASE
)
_CHANGES = re.compile(
    r"\s*(?:INSERT|REPLACE|UPDATE|DELETE|TRUNCATE|ALTER|RENAME|LOAD|COPY|DROP|CREATE|WITH|MERGE)\b", re.IGNORECASE
)
_KEYS = ("primary", "key", "unique", "index", "constraint", "foreign", "check", "fulltext", "spatial")
_TOKEN = re.compile(
    r"(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`)"
    r"|(?P<kept>/\*!\d*(?P<body>.*?)\*/)|(?P<comment>--[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<open>/\*|['\"`])|(?P<end>;)",
    re.DOTALL,
)
_TUPLE = re.compile(r"\s*\(((?:[^()']|'(?:[^'\\]|\\.|'')*')*)\)\s*([,;]?)")
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


def is_sql(text: str) -> bool:
    """Tell whether a text is a dump of a database."""
    return _LOOKS.search(text) is not None


def sql_rows(path: Path | str, text: str) -> tuple[list[str], Iterator[tuple[int, Sequence[str]]]]:
    """Return the columns of a dump and its rows with their lines.

    Other tables than the one of configurations are passed over. Whatever else changes that one is refused: nobody
    would know what it leaves.
    """
    statements = list(_statements(path, text))
    inserted = [match[2] for _, one, _ in statements if (match := _INSERT.match(one))]
    own = TABLE if TABLE in inserted or not inserted else inserted[0]
    if own != TABLE and len(set(inserted)) > 1:
        raise TraceError.at(path, f"holds several tables ({', '.join(sorted(set(inserted)))}), none is called {TABLE}")
    created: list[str] | None = None
    parts: list[tuple[int, str, int, list[str]]] = []
    used, places = "", set()
    for at, one, ended in statements:
        line = _line(text, at + len(one) - len(one.lstrip()))
        insert, create, drop, use = (kind.match(one) for kind in (_INSERT, _CREATED, _DROPPED, _USED))
        if use is not None:
            used = use[1]
        if insert is not None and insert[2] == own:
            listed = created or list(COLUMNS)
            if insert[3] is not None:
                listed = [_bare(name) for name in insert[3].split(",")]
            parts.append((at, one, insert.end(), listed))
            places.add(insert[1] or used)
            if not ended:
                raise TraceError.at(path, "this INSERT does not end with ;", line=line, hint="is the file whole?")
        elif create is not None and create[2] == own:
            columns = _columns(one[create.end() :])
            if created not in (None, columns):
                raise TraceError.at(path, f"{own} is created a second time, with other columns", line=line)
            created = columns
        elif (parts and _UNDONE.match(one)) or (
            _is_about(one, own) and not (insert or create or _IDLE.match(one) or (drop and not parts))
        ):
            raise TraceError.at(path, f"{own}: {READ}, not {' '.join(one.split())[:30]} …", line=line)
    if len(places) > 1:
        raise TraceError.at(path, f"holds {own} of several databases ({', '.join(sorted(map(str, places)))})")
    if not parts:
        raise TraceError.at(path, f"holds no row of {own}: {READ}")
    names = parts[0][3]
    return names, _values(path, text, parts, names)


def _values(
    path: Path | str, text: str, parts: Sequence[tuple[int, str, int, list[str]]], names: list[str]
) -> Iterator[tuple[int, Sequence[str]]]:
    """Give the rows of statements, in the order of the columns of the first."""
    for start, one, begin, listed in parts:
        if sorted(listed) != sorted(names) or len(set(listed)) != len(listed):
            told = f"other columns than the first INSERT has: {', '.join(listed)}"
            raise TraceError.at(path, told, line=_line(text, start + begin))
        order = [listed.index(name) for name in names]
        at, more = begin, True
        while more:
            values = _TUPLE.match(one, at)
            if values is None:
                found = " ".join(one[at : at + 40].split())
                raise TraceError.at(path, "expected values in brackets", line=_line(text, start + at), value=found)
            line = _line(text, start + values.start(1))
            cells = [cell.strip().strip("'") for cell in values[1].split(",")]
            if len(cells) != len(listed):
                raise TraceError.at(path, f"expected {len(listed)} values, got {len(cells)}", line=line)
            yield line, [cells[i] for i in order]
            at, more = values.end(), values[2] == ","
        if one[at:].strip():
            found = " ".join(one[at : at + 40].split())
            raise TraceError.at(path, "expected the end of the statement", line=_line(text, start + at), value=found)


def _statements(path: Path | str, text: str) -> Iterator[tuple[int, str, bool]]:
    """Give statements with their places, and whether they end.

    Comments are blanks there, but for those that MySQL carries out.
    """
    begin, at, found = 0, 0, []
    for token in _TOKEN.finditer(text):
        found.append(text[at : token.start()])
        at = token.end()
        if token["text"] is not None:
            found.append(token["text"])
        elif token["kept"] is not None:
            found.append(_blank(text[token.start() : token.start("body")]) + token["body"] + "  ")
        elif token["comment"] is not None:
            found.append(_blank(token["comment"]))
        elif token["open"] is not None:
            raise TraceError.at(path, "this quote or comment never ends", line=_line(text, token.start()))
        else:
            yield begin, "".join(found), True
            begin, found = at, []
    rest = "".join([*found, text[at:]])
    if rest.strip():
        yield begin, rest, False


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _bare(name: str) -> str:
    return name.strip(' `"\n\r\t').lower()


def _is_about(statement: str, table: str) -> bool:
    """Tell whether a statement changes a table, as far as its words say."""
    bare = re.sub(r"'(?:[^'\\]|\\.|'')*'", "", statement)
    return _CHANGES.match(bare) is not None and re.search(rf"(?<!\w){table}(?!\w)", bare) is not None


def _columns(body: str) -> list[str]:
    """Return the names of columns in the brackets of CREATE TABLE."""
    depth, begin, parts = 1, 0, []
    for token in re.finditer(r"'(?:[^'\\]|\\.|'')*'|[(),]", body):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0 or (depth == 1 and token[0] == ","):
            parts.append(body[begin : token.start()])
            begin = token.end()
        if depth == 0:
            break
    words = [part.split(None, 1)[0] for part in parts if part.strip()]
    return [_bare(word) for word in words if word.split("(")[0].lower() not in _KEYS]


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
