"""Dumps of databases: what is read is what a database that carries them out holds, or the dump is refused."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from wattline.errors import TraceError
from wattline.formats.tables.configurations import read_configurations
from wattline.formats.tables.job_details import COLUMNS, TABLE

Piece = tuple[str, str]
"""A piece of a dump as a file has it, and as SQLite takes it."""


def _quoted(rng: random.Random, name: str) -> str:
    return rng.choice((name, f"`{name}`", f'"{name}"', name.upper() if name in COLUMNS else name))


class _World:
    """A random dump, piece by piece."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.key = 0
        self.columns = list(COLUMNS)
        self.opened = self.by_hand = False

    def create(self) -> Piece:
        rng = self.rng
        rng.shuffle(self.columns)
        name, there = _quoted(rng, TABLE), rng.choice(("", "IF NOT EXISTS "))
        body = ", ".join(f"{_quoted(rng, c)} {rng.choice(('int(11)', 'double', 'decimal(8,2)'))}" for c in self.columns)
        keys = rng.choice(("", ", PRIMARY KEY (`id`)", ", CHECK (nodes > 0)", ", UNIQUE (`id`, nodes)"))
        engine = rng.choice(("", " ENGINE=InnoDB COMMENT='a, (b; AS SELECT'"))
        return (f"CREATE TABLE {there}{name} ({body}{keys}){engine};", f"CREATE TABLE {there}{name} ({body}{keys});")

    def row(self) -> dict[str, str]:
        self.key += 1
        rng = self.rng
        nodes = self.key  # one row a configuration
        values = {"id": self.key, "job_id": rng.randint(1, 3), "nodes": nodes, "cores": rng.randint(1, 16)}
        cap = rng.choice(("51", "65.5", "8e1", "115.0", "'80'"))
        time = round(rng.uniform(90, 110) / (nodes * values["cores"]), 6)
        power = rng.choice((repr(nodes * 150.5), f"'{nodes * 120}'", f"+{nodes * 130}"))
        return {k: str(v) for k, v in values.items()} | {"pkg_cap": cap, "exec_time": repr(time), "tot_pkg": power}

    def insert(self) -> Piece:
        rng = self.rng
        listed = rng.sample(COLUMNS, len(COLUMNS)) if rng.random() < 0.5 else self.columns
        names = "" if listed is self.columns else f" ({', '.join(_quoted(rng, c) for c in listed)})"
        gap = rng.choice((" ", "\n  ", " /* (9,9,9) */ ", " -- (9), it's\n", " "))
        rows = []
        for _ in range(rng.randint(1, 4)):
            values = self.row()
            rows.append(f"({', '.join(values[c] for c in listed)})")
        text = f"INSERT INTO {_quoted(rng, TABLE)}{names}{gap}VALUES{gap}{(',' + gap).join(rows)}{gap};"
        return text, text

    def noise(self) -> Piece:
        """Return what leaves the rows as they are."""
        rng, hidden = self.rng, "INSERT INTO @ VALUES (99,1,4,8,80,10,400);"
        both = [
            f"-- {hidden}",
            f"/* {hidden}\n{hidden} */",
            _about("INSERT INTO notes VALUES ('it''s; @');").replace(TABLE, hidden),
            'INSERT INTO notes VALUES ("a ""b"" (c); ");',
            "INSERT INTO notes SELECT nodes FROM @;",
            "SELECT * FROM @;",
            "DELETE FROM notes WHERE a = '@';",
            f"CREATE INDEX i{rng.randrange(10**9)} ON @ (nodes);",
            "PRAGMA table_info(@);",
            "",
        ]
        ours = [
            f"# {hidden}",
            "LOCK TABLES `@` WRITE, notes READ;",
            "UNLOCK TABLES;",
            "/*!40000 ALTER TABLE `@` DISABLE KEYS */;",
            "/*!40101 SET NAMES utf8 */;",
            "ALTER TABLE `@`\n  ADD KEY `best` (`job_id`,`nodes`), ADD UNIQUE (id);",
            "ALTER TABLE `@` MODIFY `id` int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=12;",
            "DELIMITER ;",
        ]
        if rng.random() < 0.5:
            return (text := _about(rng.choice(both))), text
        return _about(rng.choice(ours)), ""

    def transaction(self) -> Piece:
        if self.opened and self.by_hand and self.rng.random() < 0.5:
            return "COMMIT;", "COMMIT; BEGIN;"
        if self.opened:
            self.opened, text = False, "SET autocommit=1;" if self.by_hand else "COMMIT;"
            self.by_hand = False
            return text, "COMMIT;"
        self.opened = True
        text = self.rng.choice(("BEGIN;", "BEGIN TRANSACTION;", "START TRANSACTION;", "SET AUTOCOMMIT = 0;"))
        self.by_hand = text.startswith("SET")
        return text, "BEGIN;"

    def change(self) -> Piece:
        """Return what may leave other rows than were put in, or none."""
        return (text := _about(self.rng.choice(CHANGES))), text


CHANGES = (
    "UPDATE @ SET exec_time = exec_time * 1.01;",
    "update `@` set cores = 3 where id = 1;",
    "DELETE FROM @ WHERE id = 1;",
    "DELETE FROM @upper;",
    'INSERT INTO "@" SELECT 77,9,4,8,80,10,400;',
    "REPLACE INTO @ VALUES (77,9,4,8,80,10,400);",
    "ALTER TABLE @ RENAME COLUMN nodes TO kept;",
    "ALTER TABLE @ RENAME TO other;",
    "DROP TABLE IF EXISTS @;",
    "CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM @; END;\nINSERT INTO notes VALUES (1);",
    "CREATE TRIGGER t AFTER DELETE ON notes BEGIN SELECT 1;\nINSERT INTO @ VALUES (78,9,4,8,80,10,400); END;",
    "WITH x AS (SELECT 1) DELETE FROM @ WHERE id = 1;",
    "INSERT INTO @title VALUES (79,9,4,8,80,10,400);",
)
"""Statements that may leave other rows than were put in, or none."""


def _about(text: str) -> str:
    return text.replace("@upper", TABLE.upper()).replace("@title", TABLE.title()).replace("@", TABLE)


def _dump(seed: int, *, changed: bool) -> tuple[str, str, bool]:
    """Return a dump, what SQLite is to carry out, and whether its last transaction is open."""
    world = _World(seed)
    rng = world.rng
    pieces: list[Piece] = [("CREATE TABLE notes (a text);",) * 2]
    if rng.random() < 0.3:
        pieces.append((f"DROP TABLE IF EXISTS {TABLE};",) * 2)
    pieces.append(world.create())
    kinds: list[Callable[[], Piece]] = [world.insert, world.insert, world.noise, world.noise, world.transaction]
    pieces += [rng.choice(kinds)() for _ in range(rng.randint(2, 12))]
    pieces.append(world.insert())
    if changed:
        at = rng.randint(2, len(pieces))
        pieces.insert(at, world.change())
    if world.opened and rng.random() < 0.8:
        pieces.append(world.transaction())
    between = rng.choice(("\n", "\r\n", "\n\n"))
    return between.join(one for one, _ in pieces) + between, "\n".join(one for _, one in pieces), world.opened


def _held(script: str) -> set[tuple[float, ...]] | None:
    """Return what the table holds for another who looks after the script was carried out; None if it fails."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.executescript(script)
        if db.in_transaction:
            db.rollback()
        found = db.execute(_about("SELECT job_id, nodes, cores, pkg_cap, exec_time, tot_pkg FROM @")).fetchall()
    except sqlite3.Error:
        return None
    finally:
        db.close()
    return {tuple(round(float(value), 9) for value in row) for row in found}  # old SQLite errs in the last digit


def _lost(script: str) -> bool:
    """Tell whether rows are put in behind the last BEGIN of a dump whose last transaction is open."""
    return f"{TABLE.lower()}" in script.lower().rpartition("begin;")[2]


def _read(path: Path) -> set[tuple[float, ...]]:
    return {
        (float(name), *(round(float(v[i]), 9) for v in (t.nodes, t.cores, t.cap_w, t.time_s, t.power_w)))
        for name, t in read_configurations(path).tables.items()
        for i in range(len(t))
    }


def test_whole_dumps_are_read_as_a_database_reads_them(tmp_path: Path) -> None:
    """Columns in any order, comments, texts, other tables, transactions: SQLite and the reader hold the same rows."""
    compared = 0
    for seed in range(200):
        text, script, opened = _dump(seed, changed=False)
        (tmp_path / "d.sql").write_text(text, newline="")
        held = _held(script)
        if opened and _lost(script):
            with pytest.raises(TraceError, match="no COMMIT follows this INSERT"):
                read_configurations(tmp_path / "d.sql")
            continue
        assert held is not None, (seed, script)
        assert _read(tmp_path / "d.sql") == held, (seed, text)
        compared += 1
    assert compared > 100


def test_changed_dumps_are_refused_or_read_right(tmp_path: Path) -> None:
    """Whatever else changes the table, nobody is given other rows than the database has."""
    refused = 0
    for seed in range(200):
        text, script, _ = _dump(seed, changed=True)
        (tmp_path / "d.sql").write_text(text, newline="")
        held = _held(script)
        try:
            found = _read(tmp_path / "d.sql")
        except TraceError:
            refused += 1
            continue
        assert held is None or found == held, (seed, text)
    assert refused > 130


MADE = "CREATE TABLE @ (id INT, job_id INT, nodes INT, cores INT, pkg_cap REAL, exec_time REAL, tot_pkg REAL);\n"
ROW = "INSERT INTO @ VALUES (1,1,4,8,51,100,472);"


@pytest.mark.parametrize(
    "own",
    [
        "",
        "INSERT OR IGNORE INTO @ VALUES (1,1,4,8,51,90,400);",
        "INSERT INTO @ SELECT * FROM backup;",
        "REPLACE INTO @ VALUES (1,1,4,8,51,999,400);",
        "COPY public.@ (id, job_id) FROM stdin;",
        "CREATE TABLE temp.@ (id INT);",
    ],
)
def test_rows_of_another_table_are_not_those_of_this_one(tmp_path: Path, own: str) -> None:
    """Where anything speaks of the table of configurations, none stands in for it."""
    backup = f"{MADE}{ROW}\n".replace("@", "backup")
    (tmp_path / "d.sql").write_text(_about(MADE + backup + own + "\n"))
    with pytest.raises(TraceError, match=TABLE):
        read_configurations(tmp_path / "d.sql")
    (tmp_path / "d.sql").write_text(backup)
    assert len(read_configurations(tmp_path / "d.sql").table()) == 1


@pytest.mark.parametrize(
    "between",
    [
        "SAVEPOINT a; @1",
        "SAVEPOINT a; @1 RELEASE a;",
        "SAVEPOINT a; @1 RELEASE SAVEPOINT A;",
        "SAVEPOINT a; SAVEPOINT b; @1 RELEASE b;",
        "SAVEPOINT a; SAVEPOINT b; @1 RELEASE b; RELEASE a;",
        "SAVEPOINT a; @1 COMMIT;",
        "BEGIN; SAVEPOINT a; @1 RELEASE a;",
        "BEGIN; SAVEPOINT a; @1 RELEASE a; COMMIT;",
    ],
)
def test_savepoints_are_transactions(tmp_path: Path, between: str) -> None:
    """Rows behind a SAVEPOINT count once it is released, or what began before it is committed."""
    script = _about(MADE + ROW + between.replace("@1", ROW.replace("(1,1,4,", "(2,1,8,")))
    (tmp_path / "d.sql").write_text(script)
    held = _held(script)
    assert held is not None
    if len(held) == 1:
        with pytest.raises(TraceError, match="no COMMIT follows this INSERT"):
            read_configurations(tmp_path / "d.sql")
    else:
        assert _read(tmp_path / "d.sql") == held


def test_a_dump_that_was_cut_is_refused(tmp_path: Path) -> None:
    """Wherever it was cut, but between two statements; a COMMIT may lack its end."""
    second = ROW.replace("(1,1,4,", "(2,1,8,")
    script = _about(f"BEGIN;\n{MADE}{ROW}\n{second}\nCOMMIT;\n")
    for at in range(1, len(script)):
        (tmp_path / "d.sql").write_text(script[:at])
        if script[:at].rstrip().endswith(("COMMIT", "COMMIT;")):
            assert len(read_configurations(tmp_path / "d.sql").table()) == 2
        else:
            with pytest.raises(TraceError):
                read_configurations(tmp_path / "d.sql")
    for at in range(len(_about(MADE + ROW)) + 1, len(_about(MADE + ROW + second)) - 1):
        (tmp_path / "d.sql").write_text(_about(MADE + ROW + second)[:at])
        with pytest.raises(TraceError):
            read_configurations(tmp_path / "d.sql")


def test_words_of_psql_are_passed_over(tmp_path: Path) -> None:
    """As pg_dump writes them at both ends of a dump, without a semicolon."""
    (tmp_path / "d.sql").write_text(
        _about("\\restrict abc\nSET row_security = off;\n" + MADE + ROW + "\n\\unrestrict abc\n")
    )
    assert len(read_configurations(tmp_path / "d.sql").table()) == 1


@pytest.mark.parametrize("text", ["NULL", "TRUE", "'sp-mz'", "-1", "1.5", "''"])
def test_applications_have_numbers(tmp_path: Path, text: str) -> None:
    """Whatever else stands in the column is refused; one number is one application, however it is written."""
    right = _about(MADE + ROW.rstrip(";") + ",(2,1.0,8,8,51,60,900),(3,'01',16,8,51,40,1700)")
    (tmp_path / "d.sql").write_text(right + ";\n")
    assert list(read_configurations(tmp_path / "d.sql").tables) == ["1"]
    (tmp_path / "d.sql").write_text(right + f",(4,{text},4,8,80,90,500);\n")
    with pytest.raises(TraceError, match=r"d\.sql:2: field 'job_id': expected the number of an application"):
        read_configurations(tmp_path / "d.sql")
