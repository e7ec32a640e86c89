"""The generated parts of docs/systems: statements, verdicts and tables of the last full run; as a program, take in a
run (``python tests/docs/systems_doc.py out/all/reproduction.json``) or write the pages again.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "systems"
RESULTS = FOLDER / "statements.json"
KEPT = ("where", "statement", "ours", "verdict", "because")
BLOCK = re.compile(r"<!-- (statements|table [\w-]+): made by scripts/update-systems -->\n.*?<!-- end -->", re.DOTALL)


def take_in(run: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return the results with those of a run, of one system or of all, in their place."""
    if run.get("quick"):
        raise SystemExit("this is a run with --quick: the documentation shows full ones")
    systems = run["systems"] if run["name"] == "all" else {run["name"]: run}
    for name, found in systems.items():
        if found["remarks"]:
            raise SystemExit(f"{name} says: {found['remarks'][0]}")
        claims = [{key: claim[key] for key in KEPT if claim[key]} for claim in found["claims"]]
        results[name] = {"created": run["created"][:10], "claims": claims, "tables": found["tables"]}
    return dict(sorted(results.items()))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def block(what: str, found: dict[str, Any]) -> str:
    """Return the lines of a block: all statements, or a table by its name."""
    if what != "statements":
        table = found["tables"][what.removeprefix("table ")]
        return markdown(table["header"], table["rows"])
    verdicts = [claim["verdict"] for claim in found["claims"]]
    told = f"Of {len(verdicts)} statements {verdicts.count('held')} are held, {verdicts.count('not held')} are not"
    untestable = verdicts.count("untestable")
    told += f", and {untestable} cannot be tested here" if untestable else ""
    rows = [
        [c["where"], c["statement"], c["ours"], c["verdict"] + (f": {c['because']}" if "because" in c else "")]
        for c in found["claims"]
    ]
    return f"{told} ({found['created']}).\n\n" + markdown(["where", "published", "ours", "verdict"], rows)


def generated(page: Path, results: dict[str, Any]) -> str:
    """Return a page as it should be."""
    found = results.get(page.stem)

    def made(match: re.Match[str]) -> str:
        assert found is not None, f"{page.name} shows a run that {RESULTS.name} does not have"
        what = match.group(1)
        return f"<!-- {what}: made by scripts/update-systems -->\n{block(what, found)}<!-- end -->"

    return BLOCK.sub(made, page.read_text(encoding="utf-8"))


def results() -> dict[str, Any]:
    """Return what the last full runs gave, by system."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


def main(runs: list[str]) -> None:
    """Take in runs, and write all pages."""
    found = results()
    for run in runs:
        found = take_in(json.loads(Path(run).read_text(encoding="utf-8")), found)
    RESULTS.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(generated(page, found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
