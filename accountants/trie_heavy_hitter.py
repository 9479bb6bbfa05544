"""What TrieHH costs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants.sampling.other_prefixes_low import OtherPrefixes
from ldpaudit.accountants.sampling.thresholded import FixedBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms._trie import Data
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Run
from ldpaudit.profile import DataSet, Number, PrivacyProfile, Witness, require_delta, require_epsilon


def profile(m: TrieHeavyHitter, neighbours: Neighbours = ADD_REMOVE) -> PrivacyProfile:
    r"""Profile of what TrieHH releases of all its rounds.

    The trie alone: `ThresholdProfile`, enclosed. The trie with its votes:

    .. math:: \delta(\varepsilon) = 1 - (1 - q)^L \text{ for every } \varepsilon, \qquad
              q = \frac{m}{n+1} \text{ for one user more or less}, \quad \frac mn \text{ for one replaced}

    Tight: where all others hold one word of L units, its prefixes have m votes in every round. A user who holds another
    word takes one of these votes away whenever that user is drawn, and they cannot be fewer for any other reason. No view
    reveals more, because a user who is never drawn leaves no trace. So a fixed batch does not hide a count: delta is the
    same at every epsilon. Where the threshold exceeds the batch nothing is ever released.
    Proof: proofs/trie_heavy_hitter.py, of single steps.

    Parameters
    ----------
    m : TrieHeavyHitter
        As its constructor ensures.
    neighbours : Neighbours
        Add-remove, where `users` are those of the smaller data set; or replace-one, where they are those of both.

    Returns
    -------
    PrivacyProfile
        In nats. With counts EXACT; else INTERVAL, or EXACT where the threshold is beyond reach.

    Raises
    ------
    Unsupported
        For a single user and replace-one neighbours.
    """
    if neighbours == REPLACE_ONE and m.users < 2:
        raise Unsupported(m, "replace-one neighbours need at least two users")
    if not m.counts:
        sampling = FixedBatch(m.users, m.batch)
        return TrieProfile(m, ThresholdProfile(sampling, m.threshold, m.levels, neighbours, m.words))
    rate = Fraction(m.batch, m.users + (neighbours == ADD_REMOVE))
    chance = 1 - (1 - rate) ** m.levels if m.threshold <= m.batch else Fraction(0)
    source = f"votes of a fixed batch of {m.batch}, {m.levels} round(s), {neighbours}"
    return ConstantDelta(chance, source, _missing_vote(m, neighbours) if chance else None)


def _missing_vote(m: TrieHeavyHitter, neighbours: Neighbours) -> Witness:
    """All others hold one word; the user holds nothing that counts, against being absent or holding that word too."""
    replaced = neighbours == REPLACE_ONE
    holders = [m.users - replaced] * m.levels
    there, without = m.data(holders, "", replaced), m.data(holders, m.word if replaced else None, replaced)
    return Witness(Run(m), (DataSet(there), DataSet(without)), f"a prefix of {m.word!r} has fewer than {m.batch} votes")


@dataclass(frozen=True)
class TrieProfile(PrivacyProfile):
    """Profile of the trie alone, with the data sets that its lower ends rest on.

    Parameters
    ----------
    m : TrieHeavyHitter
        Without counts.
    inner : ThresholdProfile
        Of its sampling and threshold.
    """

    m: TrieHeavyHitter
    inner: ThresholdProfile

    def delta(self, epsilon: Number) -> Enclosure:
        """As `ThresholdProfile.delta`."""
        return self.inner.delta(epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `ThresholdProfile.epsilon`."""
        return self.inner.epsilon(delta)

    def witness(self, epsilon: Number) -> Witness | None:
        """Two data sets and the releases that attain the lower end of ``delta(epsilon)``; None where that is 0 throughout."""
        case = self.inner.worst_case(epsilon)
        if case is None:
            return None
        replaced = self.inner.neighbours == REPLACE_ONE
        if case.others is None:
            there, without = (self.m.data(case.holders, w, replaced) for w in (self.m.word, "" if replaced else None))
        else:
            users = self.m.users - replaced
            there = _sharing(self.m, case.others, users, user=self.m.word)
            # Replaced, the user holds one of the other prefixes instead.
            without = _sharing(self.m, case.others, users + replaced)
        pair = DataSet(there), DataSet(without)
        return Witness(Run(self.m), pair[::-1] if case.removed else pair, case.event)


def _sharing(m: TrieHeavyHitter, others: OtherPrefixes, users: int, user: str | None = None) -> Data:
    """A data set in which users share other prefixes in equal parts; and one user more, where a word is given."""
    held: Counter[tuple[str, ...]] = Counter({("a" * m.unit,): others.holders, (): others.loners})
    sizes = [size for size, times in others.sizes(users) for _ in range(times)]
    held.update({(chr(_FIRST_LETTER + i) * m.unit,): size for i, size in enumerate(sizes)})
    if user is not None:
        held[(user,)] += 1
    return tuple(sorted((words, n) for words, n in held.items() if n))


_FIRST_LETTER = 0x100
"""The first of the letters, more than a batch of 200 needs, that the other prefixes of a witness repeat: none is an a."""


@dataclass(frozen=True)
class ConstantDelta(PrivacyProfile):
    """A delta that is the same at every epsilon: the infinite-loss mass is the total variation.

    Parameters
    ----------
    chance : Fraction
        Probability of the views that only one of the two inputs shows; all other views have the same ratio for both.
    source : str
        What is computed.
    found : Witness or None
        The pair and the views.
    """

    chance: Fraction
    source: str
    found: Witness | None = None

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT."""
        require_epsilon(epsilon)
        return Enclosure.of(self.chance, source=self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """0 or infinite. EXACT."""
        require_delta(delta)
        value = 0.0 if self.chance <= delta else math.inf
        return Enclosure(value, value, Rigour.EXACT, self.source)

    def witness(self, epsilon: Number) -> Witness | None:
        """The same at every epsilon."""
        require_epsilon(epsilon)
        return self.found
