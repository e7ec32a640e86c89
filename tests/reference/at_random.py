"""Random places in plain Python, from docs/which-placement.md (*Chance*): Philox 4x32-10 by its paper, and what is
drawn with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from wattline.model.networks.base import Network

STREAM = 2
WORD = 2**32


def philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """Return four words: ten rounds of multiplying and mixing (Salmon et al. 2011, §4.3)."""
    a, b, c, d = counter
    for i in range(10):
        left, right = (key[0] + i * 0x9E3779B9) % WORD, (key[1] + i * 0xBB67AE85) % WORD
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = second // WORD ^ b ^ left, second % WORD, first // WORD ^ d ^ right, first % WORD
    return a, b, c, d


def drawn(seed: int, start: int) -> Iterator[int]:
    """Yield the words of a start, one after the other."""
    block = 0
    while True:
        yield from philox((block, start % WORD, STREAM, 0), (seed % WORD, seed // WORD))
        block += 1


def below(word: int, limit: int) -> int:
    """Return a number in 0 … limit - 1."""
    return word * limit // WORD


def rdn(_network: Network | None, free: list[int], n: int, seed: int, start: int) -> list[int]:
    """Return n free nodes: the fewer of those taken and those left out are drawn."""
    few = min(n, len(free) - n)
    chosen: set[int] = set()
    for i, word in zip(range(len(free) - few, len(free)), drawn(seed, start), strict=False):
        x = below(word, i + 1)
        chosen.add(i if x in chosen else x)
    return [node for i, node in enumerate(free) if (i in chosen) == (few == n)]


def _piles(piles: dict[int, list[int]], n: int, seed: int, start: int) -> list[int]:
    """Take one pile after the other, drawn at random, until there are n nodes; what was first in line takes the drawn
    one's place.
    """
    line = sorted(piles)
    got: list[int] = []
    for word in drawn(seed, start):
        x = below(word, len(line))
        got += piles[line[x]]
        line[x] = line[0]
        line.pop(0)
        if len(got) >= n:
            break
    return got[:n]


def rdr(network: Network, free: list[int], n: int, seed: int, start: int) -> list[int]:
    """Return the free nodes of routers drawn at random."""
    return _piles(
        {r: [x for x in free if network.router_of(x) == r] for r in map(network.router_of, free)}, n, seed, start
    )


def rdg(network: Network, free: list[int], n: int, seed: int, start: int) -> list[int]:
    """Return the free nodes of groups drawn at random."""
    return _piles(
        {g: [x for x in free if network.group_of(x) == g] for g in map(network.group_of, free)}, n, seed, start
    )


AT_RANDOM = {"rdn": rdn, "rdr": rdr, "rdg": rdg}
