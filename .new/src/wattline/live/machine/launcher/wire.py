"""What clients and the launcher say to each other: one JSON object a line, of limited length, with known fields."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from wattline.errors import cut, shorten

VERSION = 1
"""Of the rows in snapshots; raised when what a client makes of them would be wrong."""
LONGEST_REQUEST = 1 << 17
"""Bytes of a request."""
MOST_SAID = 200
"""Characters of an answer that says what is wrong."""


class RequestError(Exception):
    """A request that is not understood; its text is one line."""


def parse(line: bytes) -> dict[str, Any]:
    """Return the request of a line."""
    if len(line) > LONGEST_REQUEST:
        raise RequestError(f"is longer than {LONGEST_REQUEST} bytes")
    try:
        request = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RequestError("is not a JSON object") from None
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise RequestError('is not a JSON object with a word "do"')
    return request


def _no_number(text: str) -> float:
    raise ValueError(text)


def answer(**what: Any) -> bytes:
    """Return an answer as a line."""
    return json.dumps(what).encode() + b"\n"


def refusal(why: str) -> bytes:
    """Return the answer that says why a request is not done."""
    return answer(ok=False, why=cut(" ".join(why.split()), MOST_SAID))


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 1000 and value.isprintable()


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and "\0" not in word for word in value)


def _form(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) - {"limit_s"} != {"cores", "cap_w"}:
        return False
    return all(_number(v) and v > 0 for v in value.values()) and value["cores"] == int(value["cores"])


FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "job": (lambda v: isinstance(v, str) and v.isdigit() and len(v) < 19, "the number of a job, as text"),
    "nodes": (lambda v: _words(v) and bool(v), "a list of names of nodes"),
    "form": (_form, "cores (a whole number), cap_w and, where there is one, limit_s, each above 0"),
    "node": (_text, "the name of a node"),
    "reason": (_text, "a line of text"),
    "count": (
        lambda v: isinstance(v, int) and not isinstance(v, bool) and 1 <= v <= 10**7,
        "a whole number, at least 1",
    ),
    "argv": (lambda v: _words(v) and bool(v) and bool(v[0]), "a list of words, the first of them a program"),
    "cwd": (lambda v: _text(v) and v.startswith("/"), "a folder's absolute path"),
    "env": (
        lambda v: (
            isinstance(v, dict)
            and _words(list(v.values()))
            and all(name and "=" not in name and "\0" not in name for name in v)
        ),
        "names and texts",
    ),
    "output": (_text, "a file's path"),
    "request_s": (lambda v: _number(v) and v > 0, "seconds, above 0"),
    "begin_s": (_number, "seconds since 1970"),
    "after": (
        lambda v: _words(v) and all(word.isdigit() and len(word) < 19 for word in v),
        "a list of numbers of jobs",
    ),
    "user": (_text, "a name"),
    "account": (_text, "a name"),
    "partition": (_text, "a name"),
    "kind": (_text, "a name"),
    "priority": (_number, "a number"),
    "draw_w": (lambda v: _number(v) and v > 0, "watts, above 0"),
    "stoppable": (lambda v: isinstance(v, bool), "true or false"),
    "token": (_text, "a text"),
    "jobs": (lambda v: v in ("leave", "requeue", "cancel"), '"leave", "requeue" or "cancel"'),
    "all": (lambda v: isinstance(v, bool), "true or false"),
    "since": (lambda v: isinstance(v, int) and not isinstance(v, bool), "a whole number"),
    "epoch": (_text, "a text"),
    "seen": (_words, "a list of numbers of jobs"),
}
"""Fields of requests: how each is checked, and what is said when it is wrong."""

REQUESTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "submit": (
        ("argv", "count", "cwd"),
        (
            "env",
            "output",
            "request_s",
            "begin_s",
            "after",
            "user",
            "account",
            "partition",
            "kind",
            "priority",
            "draw_w",
            "stoppable",
            "token",
        ),
    ),
    "snapshot": ((), ("since", "epoch", "all", "seen")),
    "release": (("job", "nodes"), ("form",)),
    "hold": (("job",), ()),
    "stop": (("job",), ()),
    "cont": (("job",), ()),
    "requeue": (("job",), ()),
    "cancel": (("job",), ()),
    "drain": (("node",), ("reason",)),
    "resume_node": (("node",), ()),
    "counts": ((), ()),
    "shutdown": ((), ("jobs",)),
}
"""Requests: the fields that each must have, and those that it may have."""


def check(request: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what a request asks for and its fields, each as it should be."""
    do = request["do"]
    if do not in REQUESTS:
        raise RequestError(f"do {shorten(do)}: expected one of {', '.join(REQUESTS)}")
    needed, allowed = REQUESTS[do]
    fields = {name: value for name, value in request.items() if name != "do"}
    for name in needed:
        if name not in fields:
            raise RequestError(f"{do}: field {name!r} is missing")
    for name, value in fields.items():
        if name not in needed and name not in allowed:
            raise RequestError(f"{do}: field {shorten(name)} is not known")
        right, expected = FIELDS[name]
        if not right(value):
            raise RequestError(f"{do}: field {name!r}: expected {expected} (got {shorten(value)})")
    return do, fields
