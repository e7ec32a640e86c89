"""Speed, as ratios within one run: the machine's own speed cancels out."""
