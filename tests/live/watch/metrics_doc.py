"""The generated part of docs/live/metrics.md; as a program, write it."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "live" / "metrics.md"
BEGIN = "<!-- made by scripts/update-golden from the code: edit src/wattline/live/watch/table.py instead -->\n"
END = "<!-- end -->"


def generated() -> str:
    """Return the page as it should be."""
    from wattline.live.watch.table import reference_markdown

    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{reference_markdown()}\n\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(generated(), encoding="utf-8")
