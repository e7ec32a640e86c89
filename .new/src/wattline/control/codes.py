"""The chores that the loop may ask for, and when a timer counts as going off at once."""

RARE = 0  # node changes, envelope steps, sleep, timers and ticks of this instant; returns what happened
RARE_BESIDE_ENDS = 10  # the same, where jobs have ended in this instant: their nodes stay awake for its pass
DUE = 1  # serve the first due job; returns a job to be killed, or -1
STOPS = 2  # preempt the jobs on the stop list
RESORT = 3  # sort the whole queue again
TIDY = 5  # squeeze holes out of the queue, settle newcomers, keep the backfill index, refresh estimated ends
SHEDDING = 6  # stop jobs while even the lowest caps leave the power above the limit
RECLAIM = 7  # take back caps raised with power left over
EXPECT = 9  # new estimates for running jobs whose own have run out
NEIGHBOURS = 8  # speeds of jobs whose links' loads have changed
CAPS = 4  # apply wanted levels and caps

SOON_S = 1e-6
SOON_SHARE = 1e-15
"""A timer less than a microsecond ahead, or less than a few of the least steps of a clock that shows a large time,
goes off *at once*: a policy that sets one again and again lets no time pass.
"""

SHORT_S, STILL = 1e-3, 100
"""One that is less than a millisecond ahead, shorter than any control loop's period, counts as a hundredth of that."""
