"""Dumps of databases (``mysqldump``, phpMyAdmin, ``pg_dump --inserts``, ``sqlite3 .dump``): the rows of one table.

Read are CREATE TABLE and INSERT INTO … VALUES, with their comments, quotes and transactions. Any other statement that
speaks of the table is refused, unless it is known to leave the rows as they are: nobody would know what it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wattline.errors import TraceError
from wattline.formats.tables.job_details import COLUMNS, TABLE

READ = "only CREATE TABLE and INSERT INTO … VALUES are read"

_NAME = r"(?:[`\"]?(\w+)[`\"]?\s*\.\s*)?[`\"]?(\w+)[`\"]?"
_LOOKS = re.compile(r"^\s*(?:INSERT|REPLACE)\s[^;,]*?INTO\s|^\s*CREATE\s+TABLE\s", re.IGNORECASE | re.MULTILINE)
_INSERT = re.compile(rf"\s*INSERT\s+INTO\s+{_NAME}\s*(?:\(([^)]*)\))?\s*VALUES\s*", re.IGNORECASE)
_FILLED = re.compile(rf"\s*(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO\s+{_NAME}", re.IGNORECASE)
_CREATED = re.compile(rf"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*\(", re.IGNORECASE)
_DROPPED = re.compile(rf"\s*DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?{_NAME}\s*$", re.IGNORECASE)
_USED = re.compile(r"\s*USE\s+[`\"]?(\w+)[`\"]?\s*$", re.IGNORECASE)
_SEARCHED = re.compile(
    r"\s*(?:SET\s+(?:SESSION\s+|LOCAL\s+)?(?:search_path\s*(?:=|TO\b)|SCHEMA\b)"
    r"|SELECT\s+(?:pg_catalog\s*\.\s*)?set_config\s*\(\s*'search_path'\s*,)\s*['\"]?(\w*)",
    re.IGNORECASE,
)
_OPENS = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_COMMITS = re.compile(r"\s*SET\s+(?:SESSION\s+|@@)?AUTOCOMMIT\s*=\s*(?:(0|OFF)|1|ON)\b", re.IGNORECASE)
_CLOSES = re.compile(r"\s*(?:COMMIT|END)\b", re.IGNORECASE)
_SAVES = re.compile(r"\s*(?:(SAVEPOINT)|RELEASE(?:\s+SAVEPOINT)?)\s+([`\"]?\w+[`\"]?)\s*$", re.IGNORECASE)
_UNDOES = re.compile(r"\s*ROLLBACK\b", re.IGNORECASE)
_ROUTINE = re.compile(
    r"\s*CREATE\s[^;]*?\b(?:PROCEDURE|FUNCTION|TRIGGER|EVENT)\b|\s*DELIMITER\b(?!\s*$)", re.IGNORECASE
)
_DETAIL = r"[^,()]*(?:\([^()]*\)[^,()]*)*"
_ALTERATION = (
    rf"(?:ADD\s+(?:CONSTRAINT\s+\S+\s+)?(?:PRIMARY|UNIQUE|FOREIGN|FULLTEXT|KEY|INDEX)\b{_DETAIL}"
    rf"|MODIFY\s+(?:COLUMN\s+)?\S+\s+\w*int\b{_DETAIL}\bAUTO_INCREMENT\b[^,()]*|AUTO_INCREMENT\s*=\s*\d+\s*"
    r"|OWNER\s+TO\s+\S+\s*|(?:DIS|EN)ABLE\s+KEYS\s*)"
)
_HARMLESS = re.compile(
    rf"\s*(?:ALTER\s+TABLE\s+(?:ONLY\s+)?{_NAME}\s+{_ALTERATION}(?:,\s*{_ALTERATION})*$"
    r"|CREATE\s+(?:UNIQUE\s+)?INDEX\b|CREATE\s[^()]*?\bVIEW\b|DROP\s+VIEW\b|LOCK\s+TABLES?\b[^()]*$"
    r"|(?:SHOW|DESC|DESCRIBE|PRAGMA|GRANT|REVOKE|COMMENT\s+ON)\b|SELECT\b(?!.*\bINTO\b))",
    re.IGNORECASE | re.DOTALL,
)
_KEYS = ("primary", "key", "unique", "index", "constraint", "foreign", "check", "fulltext", "spatial")
_TEXT = r"'(?:[^'\\]|\\.|'')*'"
_TOKEN = re.compile(
    rf"(?P<text>{_TEXT}|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`)"
    r"|(?P<kept>/\*!\d*(?P<body>.*?)\*/)|(?P<comment>--[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<open>/\*|['\"`])|(?P<end>;)",
    re.DOTALL,
)
_CELL = re.compile(
    r"\s*(?:'(?P<one>(?:[^'\\]|'')*)'|\"(?P<two>(?:[^\"\\]|\"\")*)\"|(?P<bare>[^\s'\"(),;][^'\"(),;]*?))\s*(?P<after>[,)])"
)
_OPEN, _COMMA = re.compile(r"\s*\("), re.compile(r"\s*,")


def is_sql(text: str) -> bool:
    """Tell whether a text is a dump of a database."""
    return _LOOKS.search(text) is not None


def sql_rows(path: Path | str, text: str) -> tuple[list[str], Iterator[tuple[int, Sequence[str]]]]:
    """Return the columns of a dump and its rows with their lines.

    Other tables than the one of configurations are passed over.
    """
    dump = _Dump(path, text)
    if not dump.parts:
        raise TraceError.at(path, f"holds no row of {dump.own}: {READ}")
    return dump.parts[0].columns, _values(dump)


@dataclass(frozen=True)
class _Statement:
    """What stands before a ``;``, comments as blanks, and where in the text it begins."""

    begin: int
    words: str
    ended: bool


@dataclass(frozen=True)
class _Part:
    """An INSERT into the table: where its values begin, and the columns that they are of."""

    statement: _Statement
    values: int
    columns: list[str]

    def wrong(self, dump: _Dump, problem: str, at: int, *, shown: bool = True) -> TraceError:
        """Return an error at a place of the statement, which is shown where the problem does not name it."""
        found = " ".join(self.statement.words[at : at + 40].split()) if shown else None
        line = dump.text.count("\n", 0, self.statement.begin + at) + 1
        return TraceError.at(dump.path, problem, line=line, value=found)


@dataclass
class _Dump:
    """The statements of a dump, and what they leave in the table of configurations."""

    path: Path | str
    text: str
    own: str = ""
    created: list[str] | None = None
    parts: list[_Part] = field(default_factory=list)
    used: str = ""
    """The database that USE names, or the schema that PostgreSQL looks for tables in."""
    places: set[str] = field(default_factory=set)
    """The databases in which the table was created, or rows were put into it."""
    since: int | None = None
    """How many parts there were when the transaction began that no COMMIT has ended."""
    point: str = ""
    """The SAVEPOINT that began it, whose RELEASE ends it."""
    by_hand: bool = False
    """SET AUTOCOMMIT = 0: every statement begins a transaction where none is open."""
    routine: bool = False
    """What follows may be a part of a procedure or a trigger."""

    def __post_init__(self) -> None:
        self.own = self._table()
        for one in _statements(self.path, self.text):  # they are not kept: tables of others may be large
            self._take(one)
            if not (one.ended or _CLOSES.match(one.words) or one.words.lstrip().startswith("\\")):
                raise self.wrong(one, "this statement does not end with ;", hint="is the file whole?")
        if len(self.places) > 1:
            told = ", ".join(sorted(map(str, self.places)))
            raise TraceError.at(self.path, f"holds {self.own} of several databases ({told})")
        if self.since is not None and len(self.parts) > self.since:
            one = self.parts[self.since].statement
            raise self.wrong(one, "no COMMIT follows this INSERT", hint="is the file whole?")

    def wrong(self, one: _Statement, problem: str, hint: str = "") -> TraceError:
        """Return an error at the first word of a statement."""
        at = one.begin + len(one.words) - len(one.words.lstrip())
        return TraceError.at(self.path, problem, line=self.text.count("\n", 0, at) + 1, hint=hint)

    def _table(self) -> str:
        """Return the name of the table of configurations: known, or the only one where nothing speaks of that."""
        found: set[str] = set()
        spoken_of = False
        for one in _statements(self.path, self.text):
            match = _INSERT.match(one.words)
            found.update(() if match is None else (match[2],))
            spoken_of = spoken_of or _speaks_of(one, TABLE)
        inserted = sorted(found)
        if not inserted or spoken_of:
            alike = [name for name in inserted if name.lower() == TABLE]
            if len(alike) > 1:
                told = f"{' and '.join(alike)} are one table for some databases, two for others"
                raise TraceError.at(self.path, told)
            return alike[0] if alike else TABLE
        if len(inserted) > 1:
            told = f"holds several tables ({', '.join(inserted)}), none is called {TABLE}"
            raise TraceError.at(self.path, told)
        return inserted[0]

    def _take(self, one: _Statement) -> None:
        insert, create = _INSERT.match(one.words), _CREATED.match(one.words)
        use = _USED.match(one.words) or _SEARCHED.match(one.words)
        if use is not None:
            self.used = use[1]
        elif _ROUTINE.match(one.words):
            self.routine = True
        commits = _COMMITS.match(one.words)
        if commits is not None:
            self.by_hand = commits[1] is not None
        saves = _SAVES.match(one.words)
        released = saves is not None and not saves[1] and saves[2].lower() == self.point
        if released or _CLOSES.match(one.words) or (commits is not None and not self.by_hand):
            self.since, self.point = None, ""
        if self.since is None and (self.by_hand or _OPENS.match(one.words)):
            self.since = len(self.parts)
        elif self.since is None and saves is not None and saves[1]:
            self.since, self.point = len(self.parts), saves[2].lower()
        if self.routine and _speaks_of(one, self.own):
            raise self.wrong(one, f"{self.own}: a statement of a procedure, a trigger or after one: {READ}")
        if insert is not None and insert[2] == self.own:
            self._insert(one, insert)
        elif create is not None and create[2] == self.own:
            self._create(one, create)
        elif (self.parts and _UNDOES.match(one.words)) or not (insert or create or self._is_harmless(one)):
            raise self.wrong(one, f"{self.own}: {READ}, not {' '.join(one.words.split())[:30]} …")

    def _insert(self, one: _Statement, insert: re.Match[str]) -> None:
        columns = self.created or list(COLUMNS)
        if insert[3] is not None:
            columns = [_bare(name) for name in insert[3].split(",")]
        self.parts.append(_Part(one, insert.end(), columns))
        self.places.add(insert[1] or self.used)

    def _create(self, one: _Statement, create: re.Match[str]) -> None:
        columns, after = _columns(one.words[create.end() :])
        self.places.add(create[1] or self.used)
        if self.created not in (None, columns):
            raise self.wrong(one, f"{self.own} is created a second time, with other columns")
        if re.search(r"\b(?:SELECT|AS)\b", re.sub(_TEXT, "", after), re.IGNORECASE):
            raise self.wrong(one, f"{self.own}: {READ}, not CREATE TABLE … SELECT")
        self.created = columns

    def _is_harmless(self, one: _Statement) -> bool:
        if not _speaks_of(one, self.own):
            return True
        filled = _FILLED.match(one.words)
        if filled is not None and filled[2].lower() != self.own.lower():
            return True
        return _HARMLESS.match(one.words) is not None or (not self.parts and _DROPPED.match(one.words) is not None)


def _speaks_of(one: _Statement, table: str) -> bool:
    """Tell whether a statement speaks of a table, in whatever letters."""
    bare = re.sub(_TEXT, "", one.words)
    return re.search(rf"(?<!\w){table}(?!\w)", bare, re.IGNORECASE) is not None


def _values(dump: _Dump) -> Iterator[tuple[int, Sequence[str]]]:
    """Give the rows of statements, in the order of the columns of the first."""
    names, line, counted = dump.parts[0].columns, 1, 0
    for part in dump.parts:
        words, listed, start, at = part.statement.words, part.columns, part.statement.begin, part.values

        def wrong(
            problem: str, where: int, *, shown: bool = True, start: int = start, words: str = words
        ) -> TraceError:
            found = " ".join(words[where : where + 40].split()) if shown else None
            return TraceError.at(dump.path, problem, line=dump.text.count("\n", 0, start + where) + 1, value=found)

        if sorted(listed) != sorted(names) or len(set(listed)) != len(listed):
            told = f"other columns than the first INSERT has: {', '.join(listed)}"
            raise part.wrong(dump, told, at, shown=False)
        order = [listed.index(name) for name in names]
        more = True
        while more:
            opened = _OPEN.match(words, at)
            if opened is None:
                raise part.wrong(dump, "expected values in brackets", at)
            first = at = opened.end()
            cells, within = [], True
            while within:
                cell = _CELL.match(words, at)
                if cell is None:
                    raise part.wrong(dump, "expected a number or a text without backslashes", at)
                cells.append(_text(cell))
                at, within = cell.end(), cell["after"] == ","
            line, counted = line + dump.text.count("\n", counted, start + first), start + first
            if len(cells) != len(listed):
                told = f"expected {len(listed)} values, got {len(cells)}"
                raise part.wrong(dump, told, first, shown=False)
            yield line, [cells[i] for i in order]
            more = (comma := _COMMA.match(words, at)) is not None
            at = at if comma is None else comma.end()
        if words[at:].strip():
            raise part.wrong(dump, "expected the end of the statement", at)


def _text(cell: re.Match[str]) -> str:
    if cell["one"] is not None:
        return cell["one"].replace("''", "'")
    return cell["bare"] if cell["two"] is None else cell["two"].replace('""', '"')


def _statements(path: Path | str, text: str) -> Iterator[_Statement]:
    """Give statements; comments are blanks there, but for those that MySQL carries out."""
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
            line = text.count("\n", 0, token.start()) + 1
            raise TraceError.at(path, "this quote or comment never ends", line=line)
        else:
            yield _Statement(begin, "".join(found), ended=True)
            begin, found = at, []
    rest = "".join([*found, text[at:]])
    if rest.strip():
        yield _Statement(begin, rest, ended=False)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _bare(name: str) -> str:
    return name.strip(' `"\n\r\t').lower()


def _columns(body: str) -> tuple[list[str], str]:
    """Return the names of columns in the brackets of CREATE TABLE, and what stands behind the brackets."""
    depth, begin, parts = 1, 0, []
    for token in re.finditer(rf"{_TEXT}|[(),]", body):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0 or (depth == 1 and token[0] == ","):
            parts.append(body[begin : token.start()])
            begin = token.end()
        if depth == 0:
            break
    words = [part.split(None, 1)[0] for part in parts if part.strip()]
    return [_bare(word) for word in words if word.split("(")[0].lower() not in _KEYS], body[begin:]
