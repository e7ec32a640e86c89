"""Numbers that stand for words in arrays: job status, what happened, verdicts, reasons, log columns."""

from __future__ import annotations

# -- status of a job
FUTURE = 0  # not submitted yet
HELD = 1  # waits for the job it depends on
WAITING = 2  # in the queue
STARTING = 3  # told to start; holds its nodes, which idle until its processes are there
WAKING = 4  # holds its nodes while some of them leave their sleep state
RUNNING = 5
PAUSED = 6  # stopped by a policy; holds its nodes, which idle
FINISHED = 7
KILLED = 8  # reached its requested time
FAILED = 9  # lost a node and was not queued again
CANCELLED = 10  # taken back by its user
REJECTED = 11  # can never run on this cluster
SPARE = 12  # no job: a row that the next unknown one may get
FREED = 13  # no job any more, and none before the next pass is over
STATUS_NAMES = (
    "future",
    "held",
    "waiting",
    "starting",
    "waking",
    "running",
    "paused",
    "finished",
    "killed",
    "failed",
    "cancelled",
    "rejected",
    "spare",
    "freed",
)

# -- room that a state may run out of; verbs return the number with a minus sign
NO_ROW, NO_CLASS, NO_HEAP, NO_INDEX, NO_USER, NO_LOG, NO_SUCH = range(1, 8)
ROOM_NAMES = (
    "",
    "jobs",
    "rate classes",
    "jobs of one rate class",
    "waiting jobs of one width",
    "users",
    "rows of a log",
)

# -- what happened in an instant: bits of the mask that wakes policies
END = 1
NODE = 2
ENVELOPE = 4
ARRIVAL = 8
TIMER = 16
TICK = 32
SAMPLE = 256  # power was sampled: what running jobs draw may have changed
EVENT_BITS = {
    "end": END,
    "node": NODE,
    "envelope": ENVELOPE,
    "arrival": ARRIVAL,
    "timer": TIMER,
    "tick": TICK,
    "sample": SAMPLE,
}
EVERYTHING = END | NODE | ENVELOPE | ARRIVAL | TIMER | TICK | SAMPLE
AWAKE = 64  # a job whose nodes woke began to work: logged, but wakes no policy
BIDDING = 128  # a bid is to be made: wakes the bid policy alone
ANY_CHANGE = END | NODE | ENVELOPE | ARRIVAL

# -- policy slots, in the order in which a pass calls them; bids are made outside the loop
ORDER, SELECT, PLACE, CAP, LEARN, PROFILE, BID = range(7)
SLOT_NAMES = ("order", "select", "place", "cap", "learn", "profile", "bid")
LOOP_SLOTS = 6  # slots that the compiled loop calls

# -- why a policy proposes a start or a stop
IN_ORDER, BACKFILL, RESERVATION, RESELECTED, CHOSEN, SHARE, FILL, URGENT, WINDOW, DEADLOCK, SHED = range(11)
WHY_NAMES = (
    "in-order",
    "backfill",
    "reservation",
    "reselected",
    "chosen",
    "share",
    "fill",
    "urgent",
    "window",
    "deadlock",
    "shed",
)

# -- kinds of action, and the guard's verdicts
ACT_START, ACT_STOP, ACT_CAP, ACT_LEVEL, ACT_RESUME, ACT_BID, ACT_JOB_CAP, ACT_RESERVE = range(8)
ACTION_NAMES = ("start", "stop", "cap", "level", "resume", "bid", "cap", "bid")
OK = 0
NOT_WAITING = 1
NOT_RUNNING = 2
NO_NODES = 3
OVER_LIMIT = 4
BAD_SHAPE = 5
BAD_PLACE = 6
CLIPPED = 7
BAD_LEVEL = 8
UNKNOWN_JOB = 9
NO_SOLO = 10
NOT_PAUSED = 11
BAD_CAP = 12
BAD_BID = 13
EXCEEDS = 14
NO_RESOURCE = 15
NO_CAPS = 16
VERDICT_NAMES = (
    "accepted",
    "not waiting",
    "not running",
    "not enough free nodes",
    "over the power limit",
    "not the job's shape",
    "nodes not free",
    "clipped to the cap range",
    "no such level",
    "no such job",
    "no caps for single jobs declared",
    "not paused",
    "not a cap",
    "not a bid that the machine can keep",
    "accepted over the power limit: nothing runs, nothing fits",
    "not enough of a resource",
    "no caps declared: its policy needs caps=True",
)

# -- events that the job table alone does not show
(
    EV_PREEMPT,
    EV_RESUME,
    EV_KILL,
    EV_FAIL,
    EV_REQUEUE,
    EV_DOWN,
    EV_UP,
    EV_LIMIT,
    EV_LEVEL,
    EV_CAP,
    EV_SLEEP,
    EV_WAKE,
    EV_DRAIN,
    EV_BID,
    EV_RESERVE,
) = range(15)
EVENT_NAMES = (
    "preempt",
    "resume",
    "kill",
    "fail",
    "requeue",
    "node-down",
    "node-up",
    "limit",
    "level",
    "cap",
    "sleep",
    "wake",
    "drain",
    "bid",
    "reserve",
)

# -- why a compiled run came back
DONE, UNTIL, BUDGET, STUCK, LOG_FULL, BAD_TIMER, BAD_KEY, BID_DUE, BAD_ESTIMATE, NO_ROOM, ASKED, TOO_FAR = range(12)
STOP_NAMES = (
    "done",
    "until",
    "budget",
    "stuck",
    "log full",
    "timer in the past",
    "key that is not a number",
    "bid due",
    "estimate that is not a number",
    "no room",
    "decision due",
    "beyond all clocks",
)

# -- columns of the timeline log
(TL_TIME, TL_POWER, TL_BUSY, TL_ASLEEP, TL_DOWN, TL_QUEUED, TL_RUNNING, TL_LIMIT, TL_RATE, TL_BACKLOG, TL_TARGET) = (
    range(11)
)
TL_COLUMNS = 11

# -- kinds of node change
NODES_DRAIN, NODES_DOWN, NODES_UP = range(3)
