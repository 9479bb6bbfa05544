"""What TrieHH costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants.sampling.thresholded import FixedBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon


def profile(m: TrieHeavyHitter, neighbours: Neighbours = ADD_REMOVE) -> PrivacyProfile:
    r"""Profile of what TrieHH releases of all its rounds.

    The trie alone: `ThresholdProfile`, enclosed. The trie with its votes:

    .. math:: \delta(\varepsilon) = 1 - (1 - q)^L \text{ for every } \varepsilon, \qquad
              q = \frac{m}{n+1} \text{ for one user more or less}, \quad \frac mn \text{ for one replaced}

    Tight: where all others hold one word of L units, its prefixes have m votes in every round. A user who holds another
    word takes one of these votes away whenever he is drawn, and in no other way can they be fewer; nobody can tell more,
    because a user who is never drawn leaves no trace. So a fixed batch hides nothing of a count, and
    no epsilon, however large, does with a smaller delta. Where the threshold exceeds the batch nothing is ever released.
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
        return ThresholdProfile(FixedBatch(m.users, m.batch), m.threshold, m.levels, neighbours, m.words > 1)
    rate = Fraction(m.batch, m.users + (neighbours == ADD_REMOVE))
    loss = 1 - (1 - rate) ** m.levels if m.threshold <= m.batch else Fraction(0)
    return Betrayed(loss, f"votes of a fixed batch of {m.batch}, {m.levels} level(s), {neighbours}")


@dataclass(frozen=True)
class Betrayed(PrivacyProfile):
    """A delta that no epsilon makes smaller.

    Parameters
    ----------
    chance : Fraction
        Of a view that only one of the two inputs shows, and which is all that tells them apart.
    source : str
        What is computed.
    """

    chance: Fraction
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT."""
        require_epsilon(epsilon)
        return Enclosure.of(self.chance, source=self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """0 or infinite. EXACT."""
        require_delta(delta)
        value = 0.0 if self.chance <= delta else math.inf
        return Enclosure(value, value, Rigour.EXACT, self.source)
