"""Paths that a user may mix up: a job log where a scenario belongs, and the other way round."""

from __future__ import annotations

from pathlib import Path

from wattline.errors import ScenarioError, TraceError


def refuse_log(path: Path) -> None:
    """Raise an error that says how to replay it if a file given as a scenario is a job log."""
    from wattline.traces import guess_format

    if path.suffix == ".toml" or not path.is_file():
        return
    try:
        kind = guess_format(path)
    except TraceError:
        return  # whatever it is, the reader of scenarios says what is wrong with it
    raise ScenarioError(f"{path}: is a job log ({kind}), not a scenario; replay it with: wattline replay {path}")


def refuse_scenario(path: Path) -> None:
    """Raise an error that says how to run it if a file given as a job log is a scenario."""
    if path.suffix == ".toml" and path.is_file():
        raise ScenarioError(f"{path}: is a scenario, not a job log; run it with: wattline run {path}")
