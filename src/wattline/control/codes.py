"""The chores that the loop may ask for."""

RARE = 0  # node changes, envelope steps, sleep, timers and ticks of this instant; returns what happened
DUE = 1  # serve the first due job; returns a job to be killed, or -1
STOPS = 2  # preempt the jobs on the stop list
RESORT = 3  # sort the whole queue again
TIDY = 5  # squeeze holes out of the queue, settle newcomers, keep the backfill index, refresh estimated ends
CAPS = 4  # apply wanted levels and caps
