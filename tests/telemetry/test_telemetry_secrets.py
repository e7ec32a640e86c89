"""Names and values on their way to a database, and back in messages: any legal name is read, no password is shown."""

from __future__ import annotations

import os
import sqlite3
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

from wattline.errors import InputError, TraceError
from wattline.telemetry.read import check, open_source
from wattline.telemetry.sources import sql as telemetry_sql
from wattline.telemetry.sources.columns import Wanted
from wattline.telemetry.sources.connection import mask
from wattline.telemetry.sources.sql import parts_of, quoted

ODD = [
    'x"y',
    "cpu.power",
    "a b",
    "'; DROP TABLE t; --",
    "semi;colon",
    "ünïcode",
    "[b]",
    '""',
    "select",
    "a`b",
    "%s",
    "$1",
    "?",
]


def make(path: Path, table: str, power: str) -> None:
    """Write forty samples of one node, half of them at 1 W."""
    base = sqlite3.connect(path)
    base.execute(f"CREATE TABLE {quoted(table)} (node, time_s, {quoted(power)})")
    base.executemany(f"INSERT INTO {quoted(table)} VALUES (?, ?, ?)", [(0, 60.0 * i, 1.0 + i) for i in range(40)])  # noqa: S608
    base.commit()
    base.close()


@pytest.mark.parametrize("name", ODD)
def test_columns_and_tables_of_any_name_are_read(tmp_path: Path, name: str) -> None:
    """A column or table whose name has quotes, dots, blanks or SQL in it is read like any other."""
    make(tmp_path / "p.db", name, name)
    for table in (None, name):
        facts = check(open_source(str(tmp_path / "p.db"), table=table), Wanted(power=(name,))).facts()
        assert (facts["good"], facts["power"]) == (40, [name])
    named = open_source(str(tmp_path / "p.db"), order=name)
    assert check(named, Wanted(power=(name,))).facts()["good"] == 40


def test_a_table_of_a_schema_is_named_with_a_dot(tmp_path: Path) -> None:
    """``schema.table`` is a table of a schema, in quotes where it must be, unless a table has that very name."""
    make(tmp_path / "p.db", "power", "power_w")
    for table in ("main.power", '"main"."power"'):
        assert check(open_source(str(tmp_path / "p.db"), table=table)).facts()["good"] == 40
    assert parts_of('a."b.c""d"') == ["a", 'b.c"d']


def test_an_order_of_receipt_that_is_no_column_is_refused(tmp_path: Path) -> None:
    """SQLite would take an unknown name for a text, and leave the rows in any order."""
    make(tmp_path / "p.db", "power", "power_w")
    with pytest.raises(TraceError, match=r"field 'came': no such column: found node, time_s, power_w"):
        open_source(str(tmp_path / "p.db"), order="came")


SECRETS = [
    "postgresql://me:p@SECRET@db.site/power",
    "postgresql://me:SECRET/db",
    "postgresql://me:SECRET@db.site:abc/power",
    "postgresql://me:x/y@SECRET@db.site/power",
    "postgresql://db.site/power?PASSWORD=SECRET@x",
    "postgresql://me:SECRET@127.0.0.1:9/x?nonsense=SECRET",
    "postgresql://me@127.0.0.1:9/x?PASSWORD=SECRET",
    "postgresql://me@127.0.0.1:9/x?sslpassword=SECRET&passfile=SECRET",
    "postgresql://me:%53ECRET@127.0.0.1:9/x",
    "postgres:/me:SECRET@db.site/power",
    "postgresq://me:SECRET@db.site/power",
    "POSTGRESQL://me:SECRET@db.site/power",
    " postgresql://me:SECRET@db.site/power",
    "mysql://me:SECRET@db.site/power",
    "host=db.site user=me password=SECRET",
    "host=db.site PASSWORD = 'SECRET'",
    "me:SECRET@db.site",
]


@pytest.mark.parametrize("source", SECRETS)
def test_no_message_shows_a_password(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is wrong with a connection string, its password is in no message, and the message is one line."""
    from wattline.cli import call

    with pytest.raises(InputError) as caught:
        open_source(source)
    for text in (str(caught.value), repr(caught.value)):
        assert "SECRET" not in text
        assert "\n" not in text
    for more in ([], ["surplus"], ["--table", "a", "--query", "b"]):
        assert call(["telemetry", "check", source, *more]) == 2
        assert call(["telemetry", "check", "nowhere.csv", source, *more]) == 2
    assert call(["telemetry", "join", source, "--jobs", source, "--out", "x.parquet"]) == 2
    said = capsys.readouterr()
    assert "SECRET" not in said.out + said.err


def test_masking_hides_what_a_message_quotes() -> None:
    """All from a scheme to the last ``@``, and values that are named as passwords, are left out of whatever is said."""
    told = mask("no answer from postgres:/me:p@SECRET@db/x, host=db PASSWORD=SECRET port=1")
    assert told == "no answer from postgres:/…@db/x, host=db PASSWORD=… port=1"


def test_masking_leaves_other_texts_alone() -> None:
    """Messages without a connection string stay as they are."""
    for text in ("a.toml: key 'nodes' = 3 @ 5 W", "x@y: no such file", "pass=3 jobs", "https://example.org/a b@c"):
        assert mask(text) == text


def test_a_name_is_an_identifier_or_a_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PostgreSQL is asked about a table has its name in quotes where a table stands, and nowhere within a text."""
    name, asked = """it's "x""", list[tuple[str, tuple[str, ...]]]()

    def answer(_connection: object, _where: object, text: str, *values: str) -> pl.DataFrame:
        asked.append((text, values))
        return pl.DataFrame({"name": [name]} if "AS name" in text else {"n": [40.0]})

    monkeypatch.setattr(telemetry_sql.SqlSource, "_connected", lambda _: nullcontext())
    monkeypatch.setattr(telemetry_sql, "_query", answer)
    opened = open_source("postgresql://me@db.site/power", table=name)
    assert opened.rows == 40
    assert [values for text, values in asked if "pg_class" in text] == [(quoted(name),)]
    assert [text for text, _ in asked if "it's" in text] == [f"SELECT * FROM {quoted(name)} LIMIT 0"]  # noqa: S608


def test_a_database_of_odd_names_on_a_server(postgres: str) -> None:
    """PostgreSQL's tables and columns of any name are read, and it says about how many rows there are."""
    table, power = f"""wattline'{os.getpid()}."x""", """po"w.e'r"""
    made = telemetry_sql.SqlSource(postgres, query="SELECT 1 AS one")
    with made._connected() as connection:
        for text in (
            f"CREATE TABLE {quoted(table)} (node text, time_s float8, {quoted(power)} float8)",
            f"INSERT INTO {quoted(table)} SELECT 'n', 60 * i, i FROM generate_series(1, 40) AS i",  # noqa: S608
            f"ANALYZE {quoted(table)}",
        ):
            telemetry_sql._execute(connection, text)
    try:
        opened = open_source(postgres, table=table)
        assert opened.rows == 40
        assert check(opened, Wanted(power=(power,))).facts()["good"] == 40
    finally:
        with made._connected() as connection:
            telemetry_sql._execute(connection, f"DROP TABLE {quoted(table)}")


def test_a_text_of_a_database_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """SQLite keeps any bytes as text; those that are none are refused by their column."""
    make(tmp_path / "p.db", "power", "power_w")
    base = sqlite3.connect(tmp_path / "p.db")
    base.execute("UPDATE power SET node = CAST(x'a5ff' AS TEXT)")
    base.commit()
    base.close()
    with pytest.raises(TraceError, match=r"field 'node': holds a text that is not UTF-8"):
        check(open_source(str(tmp_path / "p.db")))
