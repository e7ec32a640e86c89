"""Samples from SQLite and PostgreSQL: one ordered query, read as Arrow batches through ADBC, never row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.errors import InputError, TraceError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

_POSTGRES = ("postgresql://", "postgres://")
_TEXT = re.compile(r"char|text|clob|string|date|time", re.IGNORECASE)
_STAMP = re.compile(r"timestamp|date", re.IGNORECASE)
BATCH_ROWS, BATCH_BYTES = 1 << 16, 4 << 20


def is_database(source: str) -> bool:
    """Tell whether a source is a connection string of PostgreSQL."""
    return source.startswith(_POSTGRES)


def shown(source: str) -> str:
    """Return a connection string without its password.

    >>> shown("postgresql://me:secret@db.site/power?password=x")
    'postgresql://me@db.site/power?password=…'
    """
    plain = re.sub(r"^(\w+://[^/@:]*):[^@/]*@", r"\1@", source)
    return re.sub(r"(password=)[^&]*", r"\1…", plain)


class SqlSource:
    """A table of samples, or the answer to a query, in a database."""

    def __init__(
        self, source: str, table: str | None = None, query: str | None = None, order: str | None = None
    ) -> None:
        self.source, self.name, self.order = source, shown(source), order
        self.postgres = is_database(source)
        if query is not None and table is not None:
            raise InputError("--table and --query: give one of them")
        with self._connected() as connection:
            self.table = query or table or self._only_table(connection)
            self.place = f"({self.table.strip().rstrip(';')}) AS samples" if query else _quoted(self.table)
            self._kinds = self._kinds_of(connection)
            self.columns = list(self._kinds)
            self.rows = None if query else self._about(connection)

    def batches(self, wanted: Sequence[str], time: str) -> Iterator[pl.DataFrame]:
        """Give the columns in the order of time, or of the column that says when a row was received."""
        import nanoarrow
        import polars as pl

        columns = ", ".join(f"{self._read(name, time)} AS {_quoted(name)}" for name in dict.fromkeys(wanted))
        order = _quoted(self.order or time) if (self.order or time) != "rowid" else "rowid"
        with self._connected() as connection, _statement(connection) as statement:
            key = "adbc.postgresql.batch_size_hint_bytes" if self.postgres else "adbc.sqlite.query.batch_rows"
            statement.set_options(**{key: str(BATCH_BYTES if self.postgres else BATCH_ROWS)})
            statement.set_sql_query(f"SELECT {columns} FROM {self.place} ORDER BY {order}")  # noqa: S608
            with _told(self.name):
                handle, _ = statement.execute_query()
                for batch in nanoarrow.ArrayStream(handle):
                    yield pl.Series(batch).struct.unnest()

    def _read(self, name: str, time: str) -> str:
        """Return how a column is read: as it is if it is text, else as a number, so that no batch changes the type."""
        kind, column = self._kinds[name], _quoted(name)
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
            found = _query(connection, self.name, f"SELECT * FROM {self.place} LIMIT 0")  # noqa: S608
            words = {"String": "text", "Datetime": "timestamp", "Date": "date"}
            return {name: words.get(str(kind).partition("(")[0], "number") for name, kind in found.schema.items()}
        names = _query(connection, self.name, f"SELECT * FROM {self.place} LIMIT 0").columns  # noqa: S608
        types = ", ".join(f"max(typeof({_quoted(n)}) = 'text') AS {_quoted(n)}" for n in names)
        # SQLite keeps types with values: the first rows tell texts from numbers
        rows = _query(connection, self.name, f"SELECT {types} FROM (SELECT * FROM {self.place} LIMIT 1000) AS head")  # noqa: S608
        return {name: "text" if rows[name][0] == 1 else "number" for name in names}

    def _about(self, connection: Any) -> int | None:
        """Return how many rows there are, about, from what the database knows without looking; to show progress."""
        if self.postgres:
            text = f"SELECT reltuples::float8 AS n FROM pg_class WHERE oid = '{_quoted(self.table)}'::regclass"  # noqa: S608
        else:
            text = f"SELECT max(rowid) AS n FROM {self.place}"  # noqa: S608
        try:
            found = _query(connection, self.name, text)["n"][0]
        except TraceError:  # a view, or a table without row numbers
            return None
        return None if found is None or found < 0 else int(found)

    def _only_table(self, connection: Any) -> str:
        text = (
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()" if self.postgres
            else "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )  # fmt: skip
        found = _query(connection, self.name, text)
        names = [str(name) for name in found["name"].to_list()] if found.width else []
        if len(names) == 1:
            return names[0]
        told = "no table in it" if not names else f"it has {len(names)} tables{did_you_mean('power', names)}"
        raise TraceError.at(self.name, told, hint="name one with --table")

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        manager = _manager()
        if self.postgres:
            import adbc_driver_postgresql as driver
        else:
            import adbc_driver_sqlite as driver
        with _told(self.name):
            database = manager.AdbcDatabase(driver=driver._driver_path(), uri=self.source)
        try:
            with _told(self.name):
                connection = manager.AdbcConnection(database)
            try:
                yield connection
            finally:
                connection.close()
        finally:
            database.close()


def write_sqlite(path: Path, table: str, frame: pl.DataFrame) -> None:
    """Write a frame as the only table of a SQLite file."""
    manager = _manager()
    import adbc_driver_sqlite

    temporary = path.with_name(f".{path.name}.writing")
    temporary.unlink(missing_ok=True)
    try:
        with _told(str(path)):
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


@contextmanager
def _statement(connection: Any) -> Iterator[Any]:
    statement = _manager().AdbcStatement(connection)
    try:
        yield statement
    finally:
        statement.close()


def _query(connection: Any, name: str, text: str) -> pl.DataFrame:
    """Return the answer to a short query."""
    import polars as pl

    with _statement(connection) as statement, _told(name):
        statement.set_sql_query(text)
        handle, _ = statement.execute_query()
        return pl.DataFrame(handle)


def _execute(connection: Any, text: str) -> None:
    """Run a statement that answers nothing."""
    with _statement(connection) as statement:
        statement.set_sql_query(text)
        statement.execute_update()


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say in one line what a database complains about, without what the driver adds."""
    try:
        yield
    except (_manager().Error, OSError) as problem:
        told = re.sub(r"^(?:[A-Z_]+: )?(?:\[\w+\] )?", "", " ".join(str(problem).split()))
        raise TraceError.at(name, f"the database says: {told[:200]}") from None


def _quoted(name: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split(".")) if '"' not in name else name
