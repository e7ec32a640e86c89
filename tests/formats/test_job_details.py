"""The job_details_table of P-SLURM: read as a database gives it, written as one takes it, and back without a loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import InputError, TraceError
from wattline.formats.tables.configurations import read_configurations
from wattline.formats.tables.job_details import COLUMNS, numbered, read_names, write_job_details, write_names
from wattline.model.configurations import Configurations

DUMP = """\
-- MySQL dump 10.13
DROP TABLE IF EXISTS `job_details_table`;
CREATE TABLE `job_details_table` (
  `id` int(11) NOT NULL COMMENT 'of the row, (its)', `job_id` int, nodes int, `cores` int,
  `pkg_cap` decimal(8,2) DEFAULT '1,0', `exec_time` double, `tot_pkg` double, PRIMARY KEY (`id`),
  KEY `best` (`job_id`,`nodes`)
); # it's made
/*!40000 ALTER TABLE `job_details_table` DISABLE KEYS */;
LOCK TABLES `job_details_table` WRITE;
INSERT INTO `other` VALUES (1,'a, b');
INSERT INTO `job_details_table` VALUES (1,4,6,16,115,447.9,796.4),(2,4,8,12,65,415.3,783.8),
(3,4,8,10,80,439.2,738.2);
INSERT INTO `job_details_table` VALUES (4,9,8,8,51,100.5,700);
"""


def example(name: str = "sp-mz") -> Configurations:
    """Return the configurations of the thesis's table 5.2."""
    return Configurations(
        name,
        np.array([6, 8, 8]),
        np.array([16, 12, 10]),
        np.array([115.0, 65.0, 80.0]),
        np.array([447.9, 415.3, 439.2]),
        np.array([796.4, 783.8, 738.2]),
        115.0,
    )


def test_a_dump_is_read_as_it_is(tmp_path: Path) -> None:
    """Statements over several lines, other tables beside it: applications go by number, or by the names of a second
    file.
    """
    (tmp_path / "d.sql").write_text(DUMP)
    read = read_configurations(tmp_path / "d.sql", turbo_w=115.0)
    assert list(read.tables) == ["4", "9"]
    assert read.notes == ()
    table = read.tables["4"]
    assert (table.nodes.tolist(), table.cores.tolist()) == ([6, 8, 8], [16, 10, 12])
    assert table.power_w.tolist() == [796.4, 738.2, 783.8]
    assert table.turbo_w == 115.0
    (tmp_path / "n.csv").write_text("job_id,application\n4,sp-mz\n9,bt-mz\n")
    named = read_configurations(tmp_path / "d.sql", names=read_names(tmp_path / "n.csv"))
    assert list(named.tables) == ["sp-mz", "bt-mz"]


def test_what_mysql_prints_is_read(tmp_path: Path) -> None:
    """Tabs between columns, as mysql --batch has them."""
    (tmp_path / "d.tsv").write_text("\t".join(COLUMNS) + "\n1\t4\t6\t16\t115\t447.9\t796.4\n")
    table = read_configurations(tmp_path / "d.tsv").table()
    assert (table.application, table.time_s[0]) == ("4", 447.9)


def test_elsewhere_a_job_id_is_no_application(tmp_path: Path) -> None:
    """In a table of our own layout a column job_id says nothing about configurations."""
    (tmp_path / "t.csv").write_text("job_id,nodes,cores,cap_w,time_s,power_w\n77,2,8,51,9.0,300\n78,4,8,51,5.0,600\n")
    read = read_configurations(tmp_path / "t.csv")
    assert list(read.tables) == ["t"]
    assert "job_id" in read.notes[0].example


LIKE = "INSERT INTO `job_details_table` "
FIRST = f"{LIKE}(`id`,`job_id`,`nodes`,`cores`,`pkg_cap`,`exec_time`,`tot_pkg`) VALUES (1,1,4,8,51,100,320);\n"


def test_every_statement_has_columns_of_its_own(tmp_path: Path) -> None:
    """A list of columns counts for its statement; without one the table's own, as CREATE TABLE has them."""
    swapped = "`id` int, `job_id` int, `cores` int, `nodes` int, `pkg_cap` double, `exec_time` double, `tot_pkg` double"
    other = f"{LIKE}(tot_pkg, `id`,`job_id`,`cores`,`nodes`,`pkg_cap`,`exec_time`) VALUES (700,2,1,16,8,51,30);\n"
    made = f"{LIKE}VALUES (3,1,16,8,80,25,900);\n"
    (tmp_path / "d.sql").write_text(f"CREATE TABLE job_details_table ({swapped});\n{FIRST}{other}{made}")
    table = read_configurations(tmp_path / "d.sql").table()
    found = zip(table.nodes.tolist(), table.cores.tolist(), table.cap_w.tolist(), table.power_w.tolist(), strict=True)
    assert set(found) == {(4, 8, 51.0, 320.0), (8, 16, 51.0, 700.0), (8, 16, 80.0, 900.0)}


@pytest.mark.parametrize(
    "around",
    [
        "-- {}",
        "# {}",
        "/* {} */",
        "/* a\n{}\n*/",
        "INSERT INTO notes VALUES ('it''s; {}');",
        'INSERT INTO n VALUES ("{}");',
    ],
)
def test_what_is_no_statement_is_no_row(tmp_path: Path, around: str) -> None:
    """Comments and texts of other tables hold no configuration, whatever they look like."""
    (tmp_path / "d.sql").write_text(FIRST + around.format(f"{LIKE}VALUES (2,1,4,8,80,10,400);") + "\n")
    assert len(read_configurations(tmp_path / "d.sql").table()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "REPLACE INTO `job_details_table` VALUES (1,1,4,8,51,80,320);",
        "INSERT IGNORE INTO job_details_table VALUES (1,1,4,8,51,80,320);",
        "UPDATE job_details_table SET exec_time=80 WHERE id=1;",
        "DELETE FROM `job_details_table`;",
        "DROP TABLE job_details_table;",
        "TRUNCATE job_details_table;",
        "INSERT INTO job_details_table SELECT * FROM other;",
        "/*!50000 DELETE FROM `job_details_table` */;",
        "alter table `db`.`job_details_table` drop column cores;",
        "ROLLBACK;",
    ],
)
def test_what_would_change_the_rows_is_refused(tmp_path: Path, change: str) -> None:
    """Nobody here knows what such a statement leaves: the line says which one it is."""
    (tmp_path / "d.sql").write_text(f"{FIRST}\n{change}\n")
    with pytest.raises(
        TraceError, match=r"d\.sql:3: job_details_table: only CREATE TABLE and INSERT INTO … VALUES are read"
    ):
        read_configurations(tmp_path / "d.sql")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".sql"])
def test_there_and_back(tmp_path: Path, suffix: str) -> None:
    """Two applications, with numbers of their own, come back bit by bit."""
    tables = [example(), example("bt-mz")]
    ids = numbered(tables, {"7": "bt-mz"})
    assert ids == {"sp-mz": 8, "bt-mz": 7}
    assert write_job_details(tmp_path / f"d{suffix}", tables, ids) == 6
    write_names(tmp_path / "n.csv", ids)
    read = read_configurations(tmp_path / f"d{suffix}", names=read_names(tmp_path / "n.csv"), turbo_w=115.0)
    assert set(read.tables) == {"sp-mz", "bt-mz"}
    for table in tables:
        back = read.tables[table.application]
        for name in ("nodes", "cores", "cap_w", "time_s", "power_w"):
            np.testing.assert_array_equal(getattr(back, name), getattr(table, name))
        assert back.turbo_w == table.turbo_w


@given(
    st.lists(
        st.tuples(st.integers(1, 64), st.floats(51, 115), st.floats(50, 90)),
        min_size=1,
        max_size=12,
        unique_by=lambda row: row[:2],
    )
)
def test_numbers_come_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, float, float]]
) -> None:
    """Whatever the numbers are, a dump holds them whole."""
    folder = tmp_path_factory.mktemp("d")
    n, cap, time = (np.array(column) for column in zip(*rows, strict=True))
    table = Configurations("x", n, np.full(n.size, 8), cap, time, n * cap * 1.7)
    write_job_details(folder / "d.sql", [table], {"x": 1})
    back = read_configurations(folder / "d.sql").table()
    np.testing.assert_array_equal(back.time_s, table.time_s)
    np.testing.assert_array_equal(back.cap_w, table.cap_w)
    np.testing.assert_array_equal(back.power_w, table.power_w)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("INSERT INTO `job_details_table` VALUES (1,4,6,16,115,447.9);\n", r"d\.sql:1: expected 7 values, got 6"),
        (
            "INSERT INTO `job_details_table` VALUES\n(1,4,6,16,115,0,796.4);\n",
            r"d\.sql:2: .*exec_time.*must be above 0",
        ),
        ("INSERT INTO `a` VALUES (1);\nINSERT INTO `b` VALUES (1);\n", "holds several tables"),
        (
            f"{FIRST}{LIKE}(`id`,`nodes`) VALUES (1,2);\n",
            r"d\.sql:2: other columns than the first INSERT has: id, nodes",
        ),
        (f"{FIRST[:-2]} ON DUPLICATE KEY UPDATE id=1;\n", r"d\.sql:1: expected the end of the statement.*ON DUPLICATE"),
        (f"{FIRST}/* half\n", r"d\.sql:2: this quote or comment never ends"),
        (FIRST[:-2], r"d\.sql:1: this statement does not end with ;; is the file whole"),
        (f"{FIRST}{FIRST.replace('`job_d', 'b.`job_d')}", "holds job_details_table of several databases"),
        (f"USE `a`;\n{FIRST}USE `b`;\n{FIRST}", r"holds job_details_table of several databases \(a, b\)"),
        (f"SET search_path = a, pg_catalog;\n{FIRST}SET search_path TO 'b';\n{FIRST}", r"databases \(a, b\)"),
        (f"SET SCHEMA 'a';\n{FIRST}set schema 'b';\n{FIRST}", r"databases \(a, b\)"),
        (
            (
                f"SELECT pg_catalog.set_config('search_path', 'a', false);\n{FIRST}"
                f"SELECT set_config('search_path', 'b', false);\n{FIRST}"
            ),
            r"databases \(a, b\)",
        ),
        (
            (
                "CREATE TABLE job_details_table (`id` int, x int);\n"
                f"CREATE TABLE IF NOT EXISTS job_details_table (x int, id int);\n{FIRST}"
            ),
            r"d\.sql:2: job_details_table is created a second time",
        ),
        ("CREATE TABLE `job_details_table` (`id` int);\n", "holds no row of job_details_table"),
        ("INSERT INTO `job_details_table` VALUES 1,2;\n", r"d\.sql:1: expected values in brackets"),
        (DUMP.replace("(3,4,8,10,80", "(3,4,8,12,65"), "the configuration of 8 nodes, 12 cores, 65 W is on line"),
    ],
)
def test_bad_dumps_are_refused_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    """One line names the file, the line and the value."""
    (tmp_path / "d.sql").write_text(text)
    with pytest.raises(TraceError, match=told):
        read_configurations(tmp_path / "d.sql")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("number,name\n1,a\n", "the first line must be job_id,application"),
        ("job_id,application\n1,a\n1,b\n", r"n\.csv:3: job_id 1 is there already"),
        ("job_id,application\n1,a\n2,a\n", r"n\.csv:3: application 'a' is there already"),
        ("job_id,application\n1,\n", r"n\.csv:2: expected a number and a name"),
    ],
)
def test_bad_names_are_refused(tmp_path: Path, text: str, told: str) -> None:
    """Names are unambiguous in both directions."""
    (tmp_path / "n.csv").write_text(text)
    with pytest.raises(TraceError, match=told):
        read_names(tmp_path / "n.csv")


def test_applications_without_a_name_and_numbers_that_are_none(tmp_path: Path) -> None:
    """What cannot be named is said; a number must be one."""
    (tmp_path / "d.sql").write_text(DUMP)
    with pytest.raises(TraceError, match="there is no name for this application"):
        read_configurations(tmp_path / "d.sql", names={"4": "sp-mz"})
    with pytest.raises(InputError, match="job_id must be a whole number, got 'x'"):
        numbered([example()], {"x": "sp-mz"})
    with pytest.raises(InputError, match=r"end the name in \.csv, \.tsv or \.sql"):
        write_job_details(tmp_path / "d.txt", [example()], {"sp-mz": 1})


@pytest.mark.parametrize("name", ["t.csv", "t.sql"])
def test_more_rows_than_anybody_measures_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A row takes much more memory than its text, so it is told at the first row that is too many."""
    monkeypatch.setattr("wattline.formats.tables.configuration_rows.MOST_ROWS", 3)
    rows = [f"{i},1,{i},8,80,{100 / i},{150 * i}" for i in range(1, 5)]
    text = ",".join(COLUMNS) + "\n" + "\n".join(rows[:3]) + "\n"
    (tmp_path / "right.csv").write_text(text)
    assert len(read_configurations(tmp_path / "right.csv").table()) == 3
    more = "".join(f"{LIKE} VALUES ({row});\n" for row in rows)
    (tmp_path / name).write_text(more if name.endswith("sql") else text + rows[3] + "\n")
    line = 4 if name.endswith("sql") else 5
    with pytest.raises(TraceError, match=rf"{name}:{line}: holds more than 3 configurations"):
        read_configurations(tmp_path / name)
