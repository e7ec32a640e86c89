"""The generated part of docs/scenario.md; as a program, write it."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"
BEGIN = (
    "<!-- made by scripts/update-golden from the code: edit the section's file in src/wattline/scenario/sections "
    "instead -->\n"
)
END = "<!-- end -->"


def generated() -> str:
    """Return the page as it should be."""
    from wattline.scenario.reference import reference_markdown

    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{reference_markdown()}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(generated(), encoding="utf-8")
