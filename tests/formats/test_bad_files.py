"""Files that are not what they should be: one clear line, or a counted repair; never a traceback, never silence."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import guess_format, read_trace
from wattline.formats.jobs.krc.read import read_krc
from wattline.formats.jobs.rrze.read import read_rrze
from wattline.formats.jobs.sacct.read import read_sacct
from wattline.formats.jobs.swf.read import read_swf
from wattline.formats.jobs.table.read import read_table
from wattline.reading.notes import Trace

Reader = Callable[[Path], Trace]
READERS: dict[str, Reader] = {
    "swf": read_swf,
    "sacct": read_sacct,
    "table": read_table,
    "krc": read_krc,
    "rrze": read_rrze,
    "any": read_trace,
}
GOOD = {
    "swf": "; MaxProcs: 8\n" + "".join(f"{i} {i * 10} 0 5 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 9)),
    "sacct": "JobID|Submit|ElapsedRaw|NNodes|JobName\n"
    + "".join(f"{i}|2024-01-01T00:00:0{i}|60|2|name\n" for i in range(1, 9)),
    "table": "submit_s,work_s,nodes,user\n" + "".join(f"{i},5,2,ann\n" for i in range(1, 9)),
    "krc": "interarrival,service,cores_used\n" + "".join(f"{i},5,2\n" for i in range(1, 9)),
    "rrze": "JobID|Submit|Start|End|ReqNodes|Timelimit|Elapsed|User|JobName|\n"
    + "".join(
        f"{i}|2019-01-01T0{i}:00|2019-01-01T0{i}:01|2019-01-01T0{i}:11|2|01:00|00:10|ann|name\n" for i in range(1, 9)
    ),
}
TEXT_READERS = list(GOOD)


def one_line(path: Path, reader: Reader, limit: int = 600) -> str:
    """Return the error's text, which must be one bounded line that names the file."""
    with pytest.raises(TraceError) as caught:
        reader(path)
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    assert len(text) < limit + 2 * len(str(path))
    return text


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\n \n\r\n", "empty"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00binary\x00\xff", "binary file (NUL at byte"),
        (b"\xff\xfe1\x002\x00", "UTF-16"),
        (b"\xfd7zXZ\x00\x00", "packed with xz"),
        (b"PK\x03\x04whatever", "packed with zip"),
        (gzip.compress(GOOD["swf"].encode() * 50, mtime=0)[:60], "the gzip file is cut off"),
        (gzip.compress(b"x" * 999, mtime=0)[:-8] + b"\0" * 8, "the gzip file is damaged"),
        (b"\x1f\x8bnot really gzip", "the gzip file is damaged"),
    ],
)
def test_unreadable_content(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    """Empty, binary, foreign, truncated and damaged files are refused for what they are."""
    path = tmp_path / "file"
    path.write_bytes(content)
    assert said in one_line(path, READERS[name])


@pytest.mark.parametrize("name", READERS)
def test_unreadable_places(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a directory and a file without permission are refused for what they are."""
    reader = READERS[name]
    assert "no such file" in one_line(tmp_path / "missing", reader)
    assert "is a directory" in one_line(tmp_path, reader)
    path = tmp_path / "secret"
    path.write_text(GOOD["swf"])

    def refuse(*_: object, **__: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("wattline.files.os.open", refuse)
    assert "no permission" in one_line(path, reader)


@pytest.mark.parametrize("name", TEXT_READERS)
def test_cut_off_text_loses_one_counted_record(tmp_path: Path, name: str) -> None:
    """A text file cut in the middle of its last line loses at most that line, and says so."""
    whole = GOOD[name].rstrip("\n")
    cut = whole[: -len(whole.splitlines()[-1]) + 3]
    path = tmp_path / "file"
    path.write_text(cut)
    trace = READERS[name](path)
    assert len(trace.jobs) == 7
    assert (trace.records, trace.count("dropped")) == (8, 1)


@pytest.mark.parametrize("name", TEXT_READERS)
@pytest.mark.parametrize("change", ["crlf", "bom", "gzip", "gzip in pieces", "latin-1", "no newline at the end"])
def test_layouts_that_change_nothing(tmp_path: Path, name: str, change: str) -> None:
    """CRLF, a byte order mark, gzip and a missing last newline change no job; latin-1 bytes are tolerated in names."""
    text = GOOD[name]
    data = {
        "crlf": text.replace("\n", "\r\n").encode(),
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "gzip": gzip.compress(text.encode()),
        "gzip in pieces": b"".join(map(gzip.compress, (b"", text[:2].encode(), text[2:].encode()))),
        "latin-1": text.replace("name", "Jos\xe9")
        .replace("ann", "Ren\xe9")
        .replace("; Max", "; Ren\xe9: x\n; Max")
        .encode("latin-1"),
        "no newline at the end": text.rstrip("\n").encode(),
    }[change]
    path = tmp_path / "file"
    path.write_bytes(data)
    trace = READERS[name](path)
    assert (len(trace.jobs), trace.count("dropped")) == (8, 0)
    assert guess_format(path) == name
    assert len(read_trace(path).jobs) == 8


HUGE_BYTES = 20_000_000


@pytest.mark.parametrize("name", TEXT_READERS)
def test_huge_field(tmp_path: Path, name: str) -> None:
    """One field of 20 MB, twenty times what is read at once, is one dropped record with a short example, or one short
    error.
    """
    path = tmp_path / "file"
    lines = GOOD[name].rstrip("\n").split("\n")
    separator = {"swf": " ", "sacct": "|", "rrze": "|"}.get(name, ",")
    fields = lines[-1].split(separator)
    fields[2] = "9" * HUGE_BYTES
    path.write_text("\n".join([*lines[:-1], separator.join(fields)]))
    trace = READERS[name](path)
    assert (trace.records, len(trace.jobs)) == (8, 7)
    assert all(len(note.example) + len(note.reason) < 400 for note in trace.notes)
    path.write_text("9" * HUGE_BYTES)
    one_line(path, READERS[name])


@pytest.mark.parametrize("name", TEXT_READERS)
def test_header_without_records(tmp_path: Path, name: str) -> None:
    """A file with a header and no record is refused: there is no job in it."""
    path = tmp_path / "file"
    path.write_text(GOOD[name].splitlines()[0] + "\n")
    assert "no job in it" in one_line(path, READERS[name])


def test_all_dropped_says_why(tmp_path: Path) -> None:
    """When no record is usable the error gives the reasons and an example."""
    path = tmp_path / "log.swf"
    path.write_text("1 0 -1 -1 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n")
    assert "none of its 1 record is usable (1 × run time unknown, e.g. log.swf:1:" in one_line(path, read_swf)


def test_unknown_format(tmp_path: Path) -> None:
    """A text that fits no format is refused with what was seen and what to do."""
    path = tmp_path / "poem.txt"
    path.write_text("the sea has many voices\n")
    assert (
        "cannot tell its format from 'the sea has many voices'; name it with --format (in a scenario: format), one of "
        in one_line(path, read_trace)
    )


def test_a_guess_is_told(tmp_path: Path) -> None:
    """When a file of guessed format cannot be read, the error says what it was taken for."""
    path = tmp_path / "list.txt"
    path.write_text("a|b|c\n1|2|3\n")
    assert one_line(path, read_trace).endswith("; taken for sacct by its content")


def test_unknown_format_name(tmp_path: Path) -> None:
    """A format that does not exist is answered with the closest one."""
    with pytest.raises(InputError, match="unknown trace format 'swff'; did you mean 'swf'"):
        read_trace(tmp_path / "x", format="swff")


def test_truncated_and_fake_parquet(tmp_path: Path) -> None:
    """A Parquet file that is cut off or only pretends is refused in one line."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"submit_s": [0.0], "work_s": [1.0], "nodes": [1]}).write_parquet(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"PAR1", b"PAR1 is not enough PAR1"):
        path.write_bytes(content)
        assert "not a whole Parquet file" in one_line(path, read_trace)


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_fuzzed_bytes_give_a_trace_or_one_line(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever the bytes, a reader returns a trace that accounts for every record, or raises a TraceError."""
    name = data.draw(st.sampled_from(list(READERS)))
    good = GOOD.get(name, GOOD["swf"]).encode()
    content = data.draw(st.one_of(st.binary(max_size=300), mutations(good)))
    path = tmp_path / "fuzz"
    path.write_bytes(content)
    trace, error = attempt(READERS[name], path)
    if trace is None:
        assert error
        assert "\n" not in error
    else:
        assert len(trace.jobs) >= 1
        assert trace.records == len(trace.jobs) + trace.count("dropped")


def attempt(reader: Reader, path: Path) -> tuple[Trace | None, str]:
    """Return the trace, or the text of the one error that a reader may raise."""
    try:
        return reader(path), ""
    except TraceError as error:
        return None, str(error)


@st.composite
def mutations(draw: st.DrawFn, good: bytes) -> bytes:
    """A good file with some stretches overwritten."""
    content = bytearray(good)
    bits = st.one_of(
        st.binary(max_size=6), st.sampled_from([b"-1", b"nan", b"1e999", b"|", b",", b'"', b"\n", b"9" * 30])
    )
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(content)))
        content[at : at + draw(st.integers(0, 4))] = draw(bits)
    return bytes(content)
