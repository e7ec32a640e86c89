"""Places in ``s.option`` and ``s.counter``: switches of a run, and what it counts."""

from __future__ import annotations

# -- switches in s.option
OPT_SORTED = 0  # keep running sorted by estimated end (backfilling needs it)
OPT_TIES_EVENT = 1  # one pass per event instead of one per instant
OPT_KILL = 2  # end jobs at their requested time
OPT_TIMELINE = 3  # log the timeline
OPT_PLACEMENTS = 4  # log placements
OPT_DECISIONS = 5  # keep the decision log
OPT_REQUEUE = 6  # jobs that lose a node are queued again
OPT_SLEEP = 7  # some node class has a sleep state
OPT_BACKLOG = 8  # log the remaining work (costs a walk over the jobs in the system)
OPT_KEEP_PROGRESS = 9  # a requeued job keeps the work it has done (checkpoints)
OPT_BELIEF = 10  # admission counts with profiles, not with the truth
OPT_QUANTUM = 11  # passes at ticks only; what happened in between waits for the next
OPT_EXCEED = 12  # when nothing runs and nothing fits under the limit, the first job may exceed it
OPT_SHED = 13  # stop jobs when even the lowest caps leave the power above the limit
OPT_CAPPED = 14  # the cap policy keeps the power below the limit by caps
OPT_STOP_SHORT = 15  # leave the clock at the last instant before the time to stop at: keeps a resumed run bit-identical
OPT_RECLAIM = 16  # take back caps that were raised with power left over, before those who wait are looked at
OPT_LATE = 17  # a job is not there at once when it was told to start

# -- numbers in s.counter
N_EVENTS, N_PASSES, N_REFUSED, N_SEQ, N_STARTS, N_FRUITLESS, N_TIMER_REPEATS, N_REPLANS = range(8)
