"""What ``import wattline as wl`` gives, and what the command line is written on: one way to ask, run, compare, bid and
check.
"""
