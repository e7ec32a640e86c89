"""``python -m wattline``, and the command ``wattline``: the door that Ctrl-C finds shut while the rest still loads."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process; interrupted before that can say so itself, it says so in one line."""
    try:
        from wattline.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("wattline: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
