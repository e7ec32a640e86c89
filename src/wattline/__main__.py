"""``python -m wattline``."""

from wattline.cli import main

main()
