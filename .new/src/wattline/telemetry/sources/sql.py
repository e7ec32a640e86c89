"""Samples from SQLite and PostgreSQL: one ordered query, read as Arrow batches through ADBC, never row by row."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wattline.errors import InputError, TraceError, did_you_mean
from wattline.reading.notes import listed
from wattline.telemetry.sources.connection import Where, is_database, parse

if TYPE_CHECKING:
    import polars as pl

_TEXT = re.compile(r"char|text|clob|string|date|time", re.IGNORECASE)
_STAMP = re.compile(r"timestamp|date", re.IGNORECASE)
_NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,2})?\s*$"
_PART = re.compile(r'"(?:[^"]|"")+"|[^."]+')
_PARTS = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
BATCH_ROWS, BATCH_BYTES = 1 << 16, 4 << 20
LOOK_S, PATIENCE_S = 0.1, 1.0
"""How often somebody looks for Ctrl-C while a database works, and how long a call has to end after it."""

T = TypeVar("T")


class SqlSource:
    """A table of samples, or the answer to a query, in a database."""

    def __init__(
        self, source: str, table: str | None = None, query: str | None = None, order: str | None = None
    ) -> None:
        self.postgres = is_database(source)
        self._where = parse(source) if self.postgres else Where(source)
        self.name, self.order = self._where.name, order
        # an absolute name, so that none is taken for one of SQLite's own words
        self.source = source if self.postgres else str(Path(source).absolute())
        if query is not None and table is not None:
            raise InputError("--table and --query: give one of them")
        with self._connected() as connection:
            if query is not None:
                self.place = f"({query.strip().rstrip(';')}\n) AS samples"
            else:
                self.place = self._table(connection, table)
            self._kinds = self._kinds_of(connection)
            self.columns = list(self._kinds)
            self.rows = None if query is not None else self._about(connection)
        if order is not None and order not in self.columns and (self.postgres or order != "rowid"):
            told = f"no such column: found {listed(self.columns)}{did_you_mean(order[:60], self.columns)}"
            raise TraceError.at(self.name, told, field=order[:60])

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:
        """Give the columns in the order of time, or of the column that says when a row was received."""
        import nanoarrow
        import polars as pl

        columns = ", ".join(f"{self._read(name, time)} AS {quoted(name)}" for name in dict.fromkeys(wanted))
        order = self._order(self.order or time)
        with self._connected() as connection, _statement(connection) as statement:
            key = "adbc.postgresql.batch_size_hint_bytes" if self.postgres else "adbc.sqlite.query.batch_rows"
            statement.set_options(**{key: str(BATCH_BYTES if self.postgres else BATCH_ROWS)})
            statement.set_sql_query(f"SELECT {columns} FROM {self.place} ORDER BY {order}")  # noqa: S608
            with _told(self._where):
                stream = iter(heard(lambda: nanoarrow.ArrayStream(statement.execute_query()[0]), statement))
                while (batch := heard(lambda: next(stream, None), statement)) is not None:
                    yield _checked(self._where, pl.Series(batch).struct.unnest())

    def _order(self, name: str) -> str:
        """Return what puts rows in the order of a column: texts that are numbers by their number, others as texts."""
        column = quoted(name)
        if name not in self._kinds:
            return name  # SQLite's number of a row
        if not _TEXT.search(self._kinds[name]) or _STAMP.search(self._kinds[name]):
            return column
        if self.postgres:
            return f"CASE WHEN {column} ~ '{_NUMBER}' THEN {column}::double precision END, {column}"
        return f"CAST({column} AS REAL), {column}"  # of a date that is its year, or its first part as the text has it

    def _read(self, name: str, time: str) -> str:
        """Return how a column is read: as it is if it is text, else as a number, so that no batch changes the type."""
        kind, column = self._kinds[name], quoted(name)
        if self.postgres:
            if _STAMP.search(kind):
                return f"EXTRACT(EPOCH FROM {column})::double precision"
            return f"{column}::text" if _TEXT.search(kind) else f"{column}::double precision"
        if _TEXT.search(kind) and (name == time or kind != "time"):
            return f"CAST({column} AS TEXT)"
        # a text in a column of numbers would be cast to 0
        return f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN CAST({column} AS REAL) END"

    def _kinds_of(self, connection: Any) -> dict[str, str]:
        """Return the type of every column."""
        if self.postgres:
            found = _query(connection, self._where, f"SELECT * FROM {self.place} LIMIT 0")  # noqa: S608
            words = {"String": "text", "Datetime": "timestamp", "Date": "date"}
            return {name: words.get(str(kind).partition("(")[0], "number") for name, kind in found.schema.items()}
        names = _query(connection, self._where, f"SELECT * FROM {self.place} LIMIT 0").columns  # noqa: S608
        types = ", ".join(f"max(typeof({quoted(n)}) = 'text') AS {quoted(n)}" for n in names)
        # SQLite keeps types with values: the first rows tell texts from numbers
        rows = _query(connection, self._where, f"SELECT {types} FROM (SELECT * FROM {self.place} LIMIT 1000) AS head")  # noqa: S608
        return {name: "text" if rows[name][0] == 1 else "number" for name in names}

    def _about(self, connection: Any) -> int | None:
        """Return how many rows there are, about, from what the database knows without looking; to show progress."""
        try:
            if self.postgres:
                text = "SELECT reltuples::float8 AS n FROM pg_class WHERE oid = to_regclass($1)"
                found = _query(connection, self._where, text, self.place)["n"][0]
            else:
                found = _query(connection, self._where, f"SELECT max(rowid) AS n FROM {self.place}")["n"][0]  # noqa: S608
        except (TraceError, IndexError):  # a view, or a table without row numbers
            return None
        return None if found is None or found < 0 else int(found)

    def _table(self, connection: Any, asked: str | None) -> str:
        """Return the table as SQL names it: the only one, one of exactly that name, or one of a schema
        (``schema.table``).
        """
        text = (
            "SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = current_schema()"
            if self.postgres
            else "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        found = _query(connection, self._where, text)
        names = [str(name) for name in found["name"].to_list()] if found.width else []
        if asked is not None:
            return quoted(asked) if asked in names else ".".join(quoted(part) for part in parts_of(asked))
        if len(names) == 1:
            return quoted(names[0])
        told = "no table in it" if not names else f"it has {len(names)} tables{did_you_mean('power', names)}"
        raise TraceError.at(self.name, told, hint="name one with --table")

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        manager = _manager()
        if self.postgres:
            import adbc_driver_postgresql as driver
        else:
            import adbc_driver_sqlite as driver
        with _told(self._where):
            database = manager.AdbcDatabase(driver=driver._driver_path(), uri=self.source)
        with _closing(database):
            with _told(self._where):
                connection = manager.AdbcConnection(database)
            with _closing(connection):
                yield connection


def write_sqlite(path: Path, table: str, frame: pl.DataFrame) -> None:
    """Write a frame as the only table of a SQLite file."""
    manager = _manager()
    import adbc_driver_sqlite

    temporary = path.with_name(f".{path.name}.writing")
    temporary.unlink(missing_ok=True)
    try:
        with _told(Where(str(path))):
            database = manager.AdbcDatabase(driver=adbc_driver_sqlite._driver_path(), uri=str(temporary))
            connection = manager.AdbcConnection(database)
            with _statement(connection) as statement:
                statement.set_options(
                    **{"adbc.ingest.target_table": table, "adbc.ingest.mode": "adbc.ingest.mode.create"}
                )
                statement.bind_stream(frame.__arrow_c_stream__())
                statement.execute_update()
            connection.close()
            database.close()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _manager() -> Any:
    try:
        import adbc_driver_manager
        import adbc_driver_postgresql
        import adbc_driver_sqlite
        import nanoarrow
    except ImportError as problem:
        raise InputError(f"databases need more packages ({problem.name}): pip install wattline[sql]") from None
    del adbc_driver_postgresql, adbc_driver_sqlite, nanoarrow
    return adbc_driver_manager


class LeftBehind(KeyboardInterrupt):
    """Ctrl-C during a call that does not end: what it works with must not be closed."""


def heard(call: Callable[[], T], statement: Any) -> T:
    """Make a call of a database in a thread of its own, so that Ctrl-C is heard meanwhile.

    The call is then told to end, or left behind.
    """
    got: list[T] = []
    wrong: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            got.append(call())
        except BaseException as problem:
            wrong.append(problem)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        while not done.wait(LOOK_S):
            pass
    except KeyboardInterrupt as problem:
        with suppress(_manager().Error):  # not every driver can
            statement.cancel()
        if not done.wait(PATIENCE_S):
            raise LeftBehind from problem
        raise
    if wrong:
        raise wrong[0]
    return got[0]


@contextmanager
def _closing(opened: Any) -> Iterator[Any]:
    """Close something of the database's at the end, unless a call was left behind that works with it."""
    try:
        yield opened
    except LeftBehind:
        raise
    except BaseException:
        opened.close()
        raise
    opened.close()


def _statement(connection: Any) -> AbstractContextManager[Any]:
    return _closing(_manager().AdbcStatement(connection))


def _query(connection: Any, where: Where, text: str, value: str | None = None) -> pl.DataFrame:
    """Return the answer to a short query; ``value`` is its parameter, if it has one."""
    import polars as pl

    with _statement(connection) as statement, _told(where):
        statement.set_sql_query(text)
        if value is not None:
            statement.prepare()
            statement.bind_stream(pl.DataFrame({"value": [value]}, schema={"value": pl.String}).__arrow_c_stream__())
        return _checked(where, heard(lambda: pl.DataFrame(statement.execute_query()[0]), statement))


def _checked(where: Where, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same rows; a database may keep texts that are no UTF-8, on which those who read them would stumble."""
    import polars as pl

    for column in frame.iter_columns():
        if column.dtype == pl.String:
            try:
                column.cast(pl.Binary).cast(pl.String)
            except pl.exceptions.PolarsError:
                raise TraceError.at(where.name, "holds a text that is not UTF-8", field=column.name[:60]) from None
    return frame


def _execute(connection: Any, text: str) -> None:
    """Run a statement that answers nothing."""
    with _statement(connection) as statement:
        statement.set_sql_query(text)
        statement.execute_update()


@contextmanager
def _told(where: Where) -> Iterator[None]:
    """Say in one line what a database complains about, without what the driver adds and without secrets."""
    try:
        yield
    except (_manager().Error, OSError) as problem:
        told = re.sub(r"^(?:[A-Z_]+: )?(?:\[\w+\] )?", "", " ".join(where.without_secrets(str(problem)).split()))
        raise TraceError.at(where.name, f"the database says: {told[:200]}") from None


def quoted(name: str) -> str:
    """Return a name as SQL's identifier, whatever characters it has.

    >>> print(quoted('x"y'), quoted("cpu.power"))
    "x""y" "cpu.power"
    """
    return '"' + name.replace('"', '""') + '"'


def parts_of(name: str) -> list[str]:
    """Return the parts of a table's name in SQL's notation, where each may stand in quotes; else it is one name.

    >>> parts_of("site.power"), parts_of('"my.table"'), parts_of('x"y')
    (['site', 'power'], ['my.table'], ['x"y'])
    """
    if _PARTS.fullmatch(name) is None:
        return [name]
    return [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in _PART.findall(name)]
