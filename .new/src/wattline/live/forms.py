"""Files of agents, controllers and launchers: quantities as people write them, and what is wrong in one line."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from wattline.errors import InputError, did_you_mean, shorten
from wattline.files import read_regular
from wattline.live.bus.names import NAME
from wattline.units import duration_s, power_w


class Section(BaseModel):
    """A table of the file: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _quantity(parse: Callable[[Any], float], *, least: float = 0.0) -> BeforeValidator:
    def number(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(f"expected a number or text, got {shorten(value)}")
        found = parse(value)
        if not math.isfinite(found) or found < least:
            raise InputError(f"must be a number of at least {least:g}, got {shorten(value)}")
        return found

    def check(value: Any) -> float:
        try:
            return number(value)
        except InputError as problem:
            raise wrong(str(problem)) from None

    return BeforeValidator(check)


def wrong(text: str) -> PydanticCustomError:
    """Return what a check of a form raises: the text is the line, behind file and key."""
    return PydanticCustomError("ours", "{text}", {"text": text})


def _name(text: str) -> str:
    if NAME.fullmatch(text) is None:
        raise wrong(
            f"must be letters, digits, '.', '_' or '-' (63 at most, a letter or digit first), got {shorten(text)}"
        )
    return text


Power = Annotated[float, _quantity(power_w)]
Duration = Annotated[float, _quantity(duration_s)]
Moment = Annotated[float, _quantity(float)]
Name = Annotated[str, AfterValidator(_name)]
Checked = TypeVar("Checked", bound=BaseModel)


def read_form(path: Path | str, model: type[Checked], what: str) -> Checked:
    """Read a TOML file and check it against a form; what is wrong is one line: file, key, problem."""
    try:
        data = tomllib.loads(read_regular(path).decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file, expected {what}") from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{path}: not valid TOML: {' '.join(str(problem).split())}") from None
    _refuse_nul(path, data)
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        details = problem.errors(include_url=False)
        details.sort(key=lambda d: d["type"] != "extra_forbidden")
        raise InputError(f"{path}: {_explain(details[0], model)}").about(path) from None


def _refuse_nul(path: Path | str, data: dict[str, Any]) -> None:
    """Refuse a NUL in any text: no path, name or command of a system can hold one. Tables may lie in tables, deeply."""
    left: list[tuple[str, Any]] = list(data.items())
    while left:
        key, value = left.pop()
        if isinstance(value, str) and "\0" in value:
            raise InputError(f"{path}: {key}: holds a NUL character, got {shorten(value)}").about(path)
        if isinstance(value, dict):
            left += value.items()
        elif isinstance(value, list):
            left += [(key, one) for one in value]


def _explain(detail: Any, model: type[BaseModel]) -> str:
    keys = [str(key) if isinstance(key, str) else f"{key + 1}" for key in detail["loc"]]
    section, key = ".".join(keys[:-1]), keys[-1] if keys else ""
    where = f"[{section}] {key}" if section else key
    if not where:
        return str(detail["msg"])
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown key{did_you_mean(key, _known(model, detail['loc'][:-1]))}"
    if detail["type"] == "missing":
        return f"{where}: is missing"
    text = detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{where}: {text}" if detail["type"] == "ours" else f"{where}: {text}, got {shorten(detail['input'])}"


def _known(model: Any, path: tuple[Any, ...]) -> list[str]:
    """Return the keys of a section."""
    for key in path:
        if isinstance(key, str):
            inner = model.model_fields[key].annotation
            model = next((a for a in (inner, *getattr(inner, "__args__", ())) if hasattr(a, "model_fields")), None)
            if model is None:
                return []
    return list(model.model_fields)
