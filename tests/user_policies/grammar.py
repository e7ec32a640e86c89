"""A small grammar of statements that users write, right and wrong; a seed gives a policy as the text of a file."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from wattline.model.state.record import FIELDS, WRITES

HEAD = """import numpy as np
from wattline import Memory, policy
from wattline.policies.helpers import (
    estimated_wall_s,
    free_extents,
    headroom_w,
    propose,
    router_traffic,
    start_increase_w,
    uniform,
)

"""
SCALARS = [name for name, (_, field) in FIELDS.items() if field.shape == "1"]
ROWS = [name for name, (_, field) in FIELDS.items() if "," not in field.shape]
TABLES = [name for name, (_, field) in FIELDS.items() if "," in field.shape]
USUAL = [
    "queue",
    "nodes",
    "free",
    "pool",
    "status",
    "key",
    "estimate_s",
    "running",
    "p_job",
    "place_a",
    "fx_to",
    "want_cap_w",
    "wake_at_s",
    "profile_w",
    "held",
    "hx_next",
    "user",
    "kind",
    "level",
    "rate_class",
]
WHOLE = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "-2",
    "64",
    "1 << 20",
    "1 << 33",
    "1 << 40",
    "-(1 << 40)",
    "(1 << 62)",
    "-100000",
    "10**7",
]
REAL = ["0.0", "1.5", "-3.0", "np.nan", "np.inf", "-np.inf", "1e308", "1e-300", "250.0"]
SLOTS = ("order", "select", "place", "cap", "learn", "profile", "bid")
TIMERS = {slot: min(i, 5) for i, slot in enumerate(SLOTS)}


@dataclass(frozen=True)
class Policy:
    """A policy of a user as it lies in a file."""

    seed: int
    slot: str
    compiled: bool
    text: str


class _Writer:
    """Draws expressions and statements for one policy."""

    def __init__(self, rng: Random, slot: str, *, compiled: bool) -> None:
        self.rng, self.slot, self.compiled = rng, slot, compiled
        self.own = sorted(WRITES[slot])

    def field(self) -> str:
        return self.rng.choice(USUAL) if self.rng.random() < 0.6 else self.rng.choice(ROWS)

    def index(self, depth: int = 0) -> str:
        """Return an index: mostly one that is there, now and then one that is not."""
        draw = self.rng.random()
        if draw < 0.45:
            return self.rng.choice(("0", "0", "i", "n", "j"))
        if draw < 0.6:
            return f"s.{self.rng.choice(SCALARS)}[0]" if self.rng.random() < 0.4 else "arg"
        if draw < 0.75:
            name = self.field()
            return f"s.{name}.shape[0]{self.rng.choice((' - 1', ' - 1', '', ' + 3'))}"
        if draw < 0.9 or depth > 1:
            return self.rng.choice(WHOLE)
        return f"int(s.{self.field()}[{self.index(depth + 1)}])"

    def whole(self, depth: int = 0) -> str:
        draw = self.rng.random()
        if draw < 0.4 or depth > 2:
            return self.rng.choice(WHOLE)
        if draw < 0.6:
            return self.rng.choice(("n", "j", "i", "arg", "happened"))
        if draw < 0.8:
            return f"int(s.{self.field()}[{self.index()}])"
        operator = self.rng.choice(("+", "-", "*", "//", "%"))
        return f"({self.whole(depth + 1)} {operator} {self.whole(depth + 1)})"

    def real(self, depth: int = 0) -> str:
        draw = self.rng.random()
        if draw < 0.3 or depth > 2:
            return self.rng.choice(REAL)
        if draw < 0.45:
            return f"float(s.{self.field()}[{self.index()}])"
        if draw < 0.6:
            return self.rng.choice(
                (
                    "headroom_w(s)",
                    f"start_increase_w(s, {self.index()})",
                    f"estimated_wall_s(s, {self.index()})",
                    f"router_traffic(s, {self.index()})",
                    f"uniform(param[-1], 7, {self.whole(2)})",
                )
            )
        if draw < 0.75:
            return self.rng.choice(("s.now[0]", "param[0]", "param[-1]", f"memory[{self.index()}]", "s.now[0] + 5.0"))
        operator = self.rng.choice(("+", "-", "*", "/"))
        return f"({self.real(depth + 1)} {operator} {self.real(depth + 1)})"

    def value(self, name: str) -> str:
        return self.real() if name in FIELDS and "float" in FIELDS[name][0].__name__ else self.whole()

    def wild(self, depth: int = 0) -> list[str]:
        """Return a statement that may be wrong."""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.3:
            name = rng.choice(self.own)
            return [f"s.{name}[{self.index()}] = {self.value(name)}"]
        if draw < 0.36:
            name = rng.choice(sorted(FIELDS))
            cell = f"{self.index()}, {self.index()}" if name in TABLES else self.index()
            return [f"s.{name}[{cell}] = {self.value(name)}"]
        if draw < 0.46:
            return [
                f"n = propose(s, {self.index()}, {self.index()})"
                if self.slot == "select" or rng.random() < 0.2
                else f"j = {self.index()}"
            ]
        if draw < 0.56:
            return [f"memory[{self.index()}] = {self.real()}"]
        if draw < 0.64:
            return [f"j = {self.whole()}"] if rng.random() < 0.7 else [f"x = {self.real()}"]
        if draw < 0.7:
            return [f"s.wake_at_s[{rng.choice((str(TIMERS[self.slot]), self.index()))}] = {self.real()}"]
        if draw < 0.76:
            return [f"part = s.{self.field()}[{self.index()} : {self.index()}]", f"j = int(part[{self.index()}])"]
        if draw < 0.8:
            name = rng.choice(TABLES)
            return [f"x = float(s.{name}[{self.index()}, {self.index()}])"]
        if draw < 0.9 and depth < 2:
            head = rng.choice(
                (
                    f"for i in range({rng.choice(('3', '9', 's.q_len[0]', 's.n_running[0]', 's.nodes.shape[0]'))}):",
                    f"if {self.real()} > {self.real()}:",
                    f"if arg == {rng.choice(WHOLE)}:",
                )
            )
            return [head, *(f"    {line}" for _ in range(rng.randint(1, 2)) for line in self.wild(depth + 1))]
        return self.rare()

    def rare(self) -> list[str]:
        """Return a statement that hardly anybody writes."""
        rng = self.rng
        both = [
            ["raise ValueError('no')"],
            ["return -1"],
            ["return 1 << 40"],
            [f"return {self.whole()}"],
            ["return 0"],
            ["x = 1 // (n - n)"],
            [f"s.{self.field()}[0] += 1"],
            [f"s.{self.field()}[:] = 1"],
            ["x = s.nothing_like_it[0]"],
            ["param[0] = 2.0"],
            ["x = float(np.sum(s.nodes[s.queue[0:4]]))"],
            [f"more = np.zeros({rng.choice(('4', '0', 'int(arg) % 5'))})", f"more[{self.index()}] = 1.0"],
            [f"x = float(np.argsort(s.{self.field()})[{self.index()}])"],
            [f"s.{rng.choice(self.own)}.flat[{self.index()}] = 1"],
            ["s.free.sort()"],
            ["param = memory", f"param[{self.index()}] = 3.0"],
            [f"s.{self.field()}[np.array([0, {self.index()}])] = 1"],
        ]
        endless = [
            ["while True:", "    n = n"],
            ["while s.now[0] >= 0.0:", "    j = j + 1", "    memory[0] = float(j)"],
        ]
        plain = [
            ["raise KeyboardInterrupt"],
            ["raise SystemExit(0)"],
            ["s.free.setflags(write=True)", "s.free[0] = 1 << 30"],
            ["s.free.flags.writeable = True"],
            ["s.free.base[...] = 0"],
            ["s.key = None"],
            ["return None"],
            ["return 'x'"],
            ["return 10**30"],
            ["return 0.5"],
            ["return True"],
            ["import wattline.model.structures.queue as q", "q.append(s, j)"],
            ["n = propose(s, 0.5, 'x')"],
            ["n = propose(None, 0, 0)"],
            [f"s.{rng.choice(self.own)}[0] = 'text'"],
            [f"s.{rng.choice(self.own)}[0] = 1 << 70"],
            ["s.words[9] = 1 << 40"],
            ["memory.resize(0)"],
            ["del s"],
            ["s.nodes.view(np.int8)[0] = 1"],
            [f"np.asarray(s.{self.field()})[:] = 0"],
            ["raise StopIteration"],
            ["globals()['propose'] = 3"],
            ["s.__init__()"],
            ["return (lambda f: f(f))(lambda f: f(f))"],
        ]
        draw = rng.random()
        if draw < 0.04:
            return rng.choice(endless)
        return rng.choice(plain if not self.compiled and draw < 0.5 else both)

    def scaffold(self) -> list[str]:
        """Return what a right policy of the slot does, a statement a line."""
        lines = {
            "order": [
                "for i in range(s.q_new[0], s.q_tail[0]):",
                "    j = s.queue[i]",
                "    if j >= 0:",
                "        s.key[j] = -float(s.nodes[j])",
                "return 0",
            ],
            "select": [
                "left = s.free[0]",
                "for i in range(s.q_head[0], s.q_tail[0]):",
                "    j = s.queue[i]",
                "    if j >= 0 and s.pool[j] == 0 and s.nodes[j] <= left and start_increase_w(s, j) <= headroom_w(s):",
                "        n = propose(s, n, j)",
                "        left -= s.nodes[j]",
                "return n",
            ],
            "place": [
                "left = s.nodes[arg]",
                "for a, end in free_extents(s, s.pool[arg]):",
                "    if left > 0:",
                "        b = min(end, a + left)",
                "        s.place_a[n] = a",
                "        s.place_b[n] = b",
                "        left -= b - a",
                "        n += 1",
                "return n",
            ],
            "cap": [
                "for i in range(s.want_cap_w.shape[0]):",
                "    s.want_cap_w[i] = 200.0 if happened % 2 == 0 else np.inf",
                "return 1",
            ],
            "learn": ["if arg >= 0:", "    s.estimate_s[arg] = 2.0 * s.request_s[arg]", "return 0"],
            "profile": [
                "if arg >= 0 and arg < s.profile_w.shape[0]:",
                "    s.profile_w[arg] = s.draw_w[arg]",
                "    s.spread_w[arg] = 5.0",
                "return 0",
            ],
            "bid": [
                "s.want_mean_w[0] = 0.6 * float(np.sum(s.pool_count * s.max_w))",
                "s.want_reserve_w[0] = 50.0",
                "return 1",
            ],
        }
        return lines[self.slot]


def generate(seed: int, *, compiled: bool) -> Policy:
    """Return the policy of a seed."""
    rng = Random(seed)
    slot = rng.choice(
        ("order", "select", "select", "select", "place", "place", "cap", "cap", "learn", "profile", "bid")
    )
    writer = _Writer(rng, slot, compiled=compiled)
    lines = ["n = 0", "j = 0", "i = 0", "x = 0.0", *writer.scaffold()]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
        at = rng.randint(4, len(lines) - 1)
        indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
        guard = [f"if s.counter[1] == {rng.randint(0, 12)}:"] if rng.random() < 0.5 else []  # in one pass only
        more = " " * 4 if guard else ""
        lines[at:at] = [indent + line for line in (*guard, *(more + line for line in writer.wild()))]
    declared = [f"compiled={compiled}"]
    declared += ["wake='end node envelope arrival timer tick sample'"] if rng.random() < 0.5 else []
    declared += ["memory=2"] if rng.random() < 0.6 else ["memory=Memory(per_job=1)"]
    declared += ["params={'one': 1.0}"]
    declared += ["sorted_running=True"] if rng.random() < 0.2 else []
    declared += ["caps=True"] if slot == "cap" and rng.random() < 0.7 else []
    declared += ["solo_caps=True"] if slot in ("cap", "select") and rng.random() < 0.4 else []
    body = "\n".join(f"    {line}" for line in lines)
    head = f"@policy({slot!r}, {', '.join(declared)})\ndef mine(s, arg, param, memory):\n    happened = arg\n"
    return Policy(seed, slot, compiled, HEAD + "\n" + head + body + "\n")
