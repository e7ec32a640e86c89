"""``wl.compare``: runs side by side, with intervals where there are several of a kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wattline.api.plain import as_plain
from wattline.api.runs import Run, as_text, path_of
from wattline.errors import InputError, shorten

if TYPE_CHECKING:
    import polars as pl

    from wattline.report.count.compare import Comparison as Found
    from wattline.report.count.metrics import Summary
    from wattline.report.count.run import Run as Loaded
    from wattline.report.pages.comparison import Loaders


class Comparison:
    """Labelled runs side by side: a table in a terminal, HTML in a notebook, a page by ``write``."""

    def __init__(self, runs: Mapping[str, Sequence[Summary]], loaders: Loaders | None = None) -> None:
        self.runs = dict(runs)
        self.loaders = dict(loaders or {})
        """How one run of each label is loaded: the page lays them over each other."""

    @cached_property
    def found(self) -> Found:
        """Means with intervals and paired differences against the first label."""
        from wattline.report.count.compare import compare as compare_summaries

        return compare_summaries(self.runs)

    @property
    def labels(self) -> tuple[str, ...]:
        """What is compared; differences are against the first."""
        return self.found.labels

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a metric and label: ``metric``, ``unit``, ``label``, ``mean``, ``half_width`` (of the 95 % interval),
        ``difference``, ``difference_half_width``.
        """
        import polars as pl

        rows = []
        for row in self.found.rows:
            for label, one, other in zip(self.found.labels, row.estimates, row.differences, strict=True):
                rows.append(
                    {
                        "metric": row.metric.path,
                        "unit": row.metric.unit,
                        "label": label,
                        "mean": one.mean,
                        "half_width": one.half_width,
                        "difference": None if other is None else other.mean,
                        "difference_half_width": None if other is None else other.half_width,
                    }
                )
        schema = dict.fromkeys(("metric", "unit", "label"), pl.String) | dict.fromkeys(
            ("mean", "half_width", "difference", "difference_half_width"), pl.Float64
        )
        return pl.DataFrame(rows, schema=schema).with_columns(pl.selectors.float().fill_nan(None))

    @property
    def sentence(self) -> str:
        """What it comes to, in a sentence."""
        from wattline.report.tables.answer import answer

        return answer(self.found)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self.found.to_dict()

    def write(self, path: Path | str, *, title: str = "Comparison") -> Path:
        """Write the page of the comparison."""
        from wattline.report.pages.comparison import write_comparison
        from wattline.scenario.key_units import in_one_way

        if not isinstance(title, str):
            raise InputError(f"write: title is a text, got {shorten(title)}")
        target = path_of("write", path)
        return write_comparison(
            self.runs, target, title=as_plain(title), comparison=self.found, loaders=self.loaders, written=in_one_way
        )

    def __rich__(self) -> Any:
        from wattline.report.tables.summary import comparison_table

        return comparison_table(self.found)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        from wattline.report.pages.comparison import comparison_html

        return comparison_html(self.found)


def journal_loaders(folder: Path, journals: Mapping[str, Sequence[str]]) -> Loaders:
    """Return how the first journal of each label is loaded, as far as there are any; paths are within a folder."""
    from wattline.journal.journal import is_journal

    def loaded(path: Path) -> Loaded:
        return Run(folder=path).loaded

    firsts = {label: folder / paths[0] for label, paths in journals.items() if paths}
    return {label: partial(loaded, path) for label, path in firsts.items() if is_journal(path)}


def compare(*runs: Run | Iterable[Run], **labelled: Run | Iterable[Run]) -> Comparison:
    """Compare runs.

    Parameters
    ----------
    *runs
        Runs, or lists of runs that differ in their seeds and count as one label. A run is labelled by what sets it
        apart: its policies, else its name.
    **labelled
        The same, with the keyword as label.
    """
    groups = [_group(one) for one in (*runs, *labelled.values())]
    if not groups or not all(groups):
        raise InputError("compare: give at least one run, and no empty list of runs")
    wrong = [one for group in groups for one in group if not isinstance(one, Run)]
    if wrong:
        raise InputError(f"compare: takes runs, of wl.simulate or wl.read_run, got {type(wrong[0]).__name__}")
    labels = [*_labels([group[0] for group in groups[: len(runs)]]), *labelled]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"compare: two runs would both be called {twice!r}; give labels: compare(before=…, after=…)")
    named = dict(zip(labels, groups, strict=True))
    loaders = {label: partial(getattr, group[0], "loaded") for label, group in named.items()}
    return Comparison({label: [run.summary for run in group] for label, group in named.items()}, loaders)


def _group(runs: Run | Iterable[Run]) -> list[Run]:
    """Return one run, or several that are given together."""
    if isinstance(runs, (Run, str)) or not isinstance(runs, Iterable) or getattr(runs, "shape", None) == ():
        return [runs]  # type: ignore[list-item]  # what is no run is refused by its name
    return list(runs)


def _labels(runs: Sequence[Run]) -> list[str]:
    """Label runs by the policies in which they differ, else by name, else by number."""
    slots = [slot for slot in (runs[0].policies if runs else {}) if len({run.policies.get(slot) for run in runs}) > 1]
    by_policy = [", ".join(run.policies.get(slot, "") for slot in slots) for run in runs]
    by_name = [run.name for run in runs]
    both = [f"{name}, {policy}" for name, policy in zip(by_name, by_policy, strict=True)]
    numbered = [f"{name} ({i + 1})" for i, name in enumerate(by_name)]
    return next((some for some in (by_policy, by_name, both) if len(set(some)) == len(runs) and all(some)), numbered)
