"""Versions: of Python, of Wattline, and of what the extras bring."""

from __future__ import annotations

from collections.abc import Iterator

from wattline.live.doctor.findings import Finding, Machine
from wattline.version import __version__

PYTHON = ((3, 11), (3, 14))
PACKAGES = {
    "pyzmq": ("27.3", "live"),
    "paho-mqtt": ("2.2", "live"),
    "prometheus-client": ("0.26", "live"),
    "openleadr": ("0.5.36", "openadr"),
}
"""Least version and extra; the same as in pyproject.toml."""


def look(machine: Machine, needed: frozenset[str]) -> Iterator[Finding]:
    """Look at versions; ``needed`` are packages that the file cannot do without."""
    python = ".".join(map(str, machine.python))
    least, most = (".".join(map(str, bound)) for bound in PYTHON)
    if PYTHON[0] <= machine.python <= PYTHON[1]:
        yield Finding("ok", "python", python)
    else:
        yield Finding("fail", "python", python, f"use {least} to {most}")
    yield Finding("ok", "wattline", __version__)
    for package, (bound, extra) in PACKAGES.items():
        found = machine.version_of(package)
        install = f"pip install 'wattline[{extra}]'"
        if found is None and package in needed:
            yield Finding("fail", "extras", f"{package} is not installed, and the file needs it", install)
        elif found is not None and _numbers(found) < _numbers(bound):
            text = f"{package} {found} is older than {bound}"
            yield Finding("fail" if package in needed else "warn", "extras", text, f"{install} --upgrade")
        elif found is not None:
            yield Finding("ok", "extras", f"{package} {found}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:3])
