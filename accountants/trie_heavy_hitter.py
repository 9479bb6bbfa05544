"""What TrieHH costs."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.pld.distribution import Groups
from ldpaudit.accountants.pld.profiles import Bracket, ConstantDelta, LargestProfile
from ldpaudit.accountants.sampling.discovery import ThinnedRound
from ldpaudit.accountants.sampling.noisy_holders import SharedWord, holders
from ldpaudit.accountants.sampling.noisy_votes import NoisyVotes
from ldpaudit.accountants.sampling.other_prefixes_low import OtherPrefixes
from ldpaudit.accountants.sampling.thresholded import FixedBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.core.number import brief
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shared.trie.one_round import Data
from ldpaudit.mechanisms.shared.trie.rounds import TrieRounds
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Run
from ldpaudit.profile import DataSet, Number, PrivacyProfile, Witness, require_epsilon


@singledispatch
def profile(m: TrieRounds, neighbours: Neighbours = ADD_REMOVE) -> PrivacyProfile:
    """Profile of any form of TrieHH; see `as_published` and `noisy`."""
    raise Unsupported(m, "it is not one of the forms of TrieHH")


@profile.register
def as_published(m: TrieHeavyHitter, neighbours: Neighbours = ADD_REMOVE) -> PrivacyProfile:
    r"""Profile of what TrieHH releases of all its rounds.

    The trie alone: `ThresholdProfile`, enclosed. The trie with its votes:

    .. math:: \delta(\varepsilon) = 1 - (1 - q)^L \text{ for every } \varepsilon, \qquad
              q = \frac{m}{n+1} \text{ for one user more or less}, \quad \frac mn \text{ for one replaced}

    Tight: where all others hold one word of L units, its prefixes have m votes in every round. A user who holds another
    word takes one of these votes away whenever that user is drawn, and they cannot be fewer for any other reason. No view
    reveals more, because a user who is never drawn leaves no trace. So a fixed batch does not hide a count: delta is the
    same at every epsilon. Where the threshold exceeds the batch nothing is ever released.
    Proof: proofs/trie_heavy_hitter.py, of single steps.

    ``m``: as its constructor ensures; ``neighbours``: add-remove, where `users` are those of the smaller data set; or
    replace-one, where they are those of both. Returns in nats. With counts EXACT; else INTERVAL, or EXACT where the
    threshold is beyond reach. Raises Unsupported for a single user and replace-one neighbours.
    """
    _require_two(m, neighbours)
    if not m.counts:
        sampling = FixedBatch(m.users, m.batch)
        return TrieProfile(m, ThresholdProfile(sampling, m.threshold, m.levels, neighbours, m.words))
    rate = Fraction(m.batch, m.users + (neighbours == ADD_REMOVE))
    chance = 1 - (1 - rate) ** m.levels if m.threshold <= m.batch else Fraction(0)
    source = f"votes of a fixed batch of {m.batch}, {m.levels} round(s), {neighbours}"
    return ConstantDelta(chance, source, _missing_vote(m, neighbours) if chance else None)


def _require_two(m: TrieRounds, neighbours: Neighbours) -> None:
    if neighbours == REPLACE_ONE and m.users < 2:
        raise Unsupported(m, "replace-one neighbours need at least two users")


@profile.register
def noisy(m: NoisyTrieHeavyHitter, neighbours: Neighbours = ADD_REMOVE) -> PrivacyProfile:
    r"""Profile of TrieHH with noisy votes: all rounds together.

    With :math:`\varepsilon_0 = \ln(1/\alpha)`, :math:`\delta_0 = C \alpha^k` and the rate q of `NoisyVotes`, one round
    is private with

    .. math:: \varepsilon = \ln(1 + q (e^{2 \varepsilon_0} - 1)), \qquad \delta = q (2 \delta_0 - \delta_0^2)

    Tight: no smaller delta does, at any epsilon, where theta is at most k + 1, so that a single vote may be released: it is
    attained where all others hold one word and the user another. Below this epsilon, delta is enclosed between data sets
    and the dominating pair of `NoisyVotes.dominating`. L rounds, of which each depends on what the others released, are
    dominated by L independent runs of that pair, composed exactly. The data sets: all others hold one word whose prefixes
    are always released, and the user's votes are missing there in every round; or some others hold the user's word, see
    `SharedWord`.
    Proof: proofs/trie_heavy_hitter.py, of single steps.

    ``m``: as its constructor ensures; ``neighbours``: add-remove, where `users` are those of the smaller data set; or
    replace-one, where they are those of both. Returns in nats. EXACT where its ends agree or nothing is ever
    released, else INTERVAL. Raises Unsupported for a single user and replace-one neighbours.
    """
    _require_two(m, neighbours)
    source = f"noisy votes of a fixed batch of {m.batch}, {m.levels} round(s), {neighbours}"
    if m.batch + m.bound < m.least:
        return ConstantDelta(Fraction(0), source)
    votes = NoisyVotes(m.users, m.batch, m.alpha, m.bound, m.least, neighbours)
    above = LargestProfile(tuple(compose(((pair, m.levels),), source) for pair in votes.dominating()))
    found: list[PrivacyProfile] = [compose(groups, source) for groups in _that_occur(votes, m.levels)]
    if any(holders(votes)):
        found.append(SharedWord(votes, m.levels))
    return Bracket(LargestProfile(tuple(found)), above)


def _that_occur(votes: NoisyVotes, levels: int) -> Iterator[Groups]:
    """Losses of all rounds of pairs of data sets that occur, listed: both values are always released, or the user's never.

    Where that takes too long, of the first round only whether the user's value is released.
    """
    alone = votes.one_apart(0) if _is_short(votes) else votes.alone()
    for pair in alone:
        yield ((pair, 1),)
    if (both := _both_shown(votes)) is not None:
        for pair in votes.one_apart(both):
            yield ((pair, levels),)
    if votes.always_shows_all:
        missing = votes.missing_vote()
        for direction in (0, -1):  # a pair that equals its reversed pair is there once
            yield ((alone[direction], 1), (missing[direction], levels - 1))


def with_dropouts(m: TrieRounds, rate: Number, neighbours: Neighbours = ADD_REMOVE) -> PrivacyProfile:
    r"""Profile of `TrieRounds.run_with_dropouts`: each drawn user is lost before the vote arrives, whatever users hold.

    A round whose votes arrive from m' users is one with the batch m'. Noisy votes, and votes of which even one tells, cost no
    more than without losses: a smaller batch draws the user less often, and its pair of laws is a mixture of the larger
    batch's with no difference at all. The trie alone may cost more, for in a batch of a few thresholds other prefixes reveal the
    user; its L rounds together cost at most

    .. math:: \delta(\varepsilon) \le L \sum_{m'} \binom{m}{m'} (1-r)^{m'} r^{m-m'} \delta_{m'}(\varepsilon / L)

    by joint convexity and basic composition, and at least what the user's own prefix costs in one round. Source:
    `accountants/sampling/discovery.py`.

    ``m``: without losses; ``rate``: r, in [0, 1); ``neighbours``: add-remove; of noisy and of exact votes replace-one
    too. Returns in nats. INTERVAL. Raises Unsupported for the trie alone, of users who hold several words, or who are
    replaced.
    """
    if not 0 <= (lost := Fraction(rate)) < 1:
        raise ValueError(f"with_dropouts needs 0 <= rate < 1, got rate={brief(rate)}")
    if not lost:
        return profile(m, neighbours)
    if m.with_counts:
        return Bracket(ConstantDelta(Fraction(0), "votes that get lost"), profile(m, neighbours))
    if neighbours != ADD_REMOVE or m.words > 1:
        raise Unsupported(m, "with lost users, the trie alone is bounded only for one user more or less, and one word per user")
    return LossyTrie(ThinnedRound(m.users, m.batch, m.threshold, 1 - lost), m.levels)


@dataclass(frozen=True)
class LossyTrie(PrivacyProfile):
    """Profile of rounds in which votes get lost; see `with_dropouts`."""

    each: ThinnedRound  # a round
    levels: int  # L, at least 1

    def delta(self, epsilon: Number) -> Enclosure:
        """INTERVAL."""
        share = Fraction(epsilon) / self.levels if math.isfinite(require_epsilon(epsilon)) else epsilon
        low, high = self.each.one_prefix(epsilon).low, min(1.0, round_up(self.levels * Fraction(self.each.mixture(share))))
        return Enclosure(low, max(low, high), Rigour.INTERVAL, f"votes that get lost, {self.levels} round(s)")


_MOST_CELLS = 40_000
"""Votes times pairs of noises that are listed for a data set, per 128 bits of a power of alpha: some tenths of a second."""


_MOST_LISTED = 1 << 40
"""Pairs of noises that are listed for a data set, times the square of the bits of a power of alpha: two seconds."""
_LOOP = 1 << 20
"""What a pair costs whatever the bits: as much as a thousand of them."""


def _is_short(votes: NoisyVotes) -> bool:
    """Whether the pairs of noises may be listed."""
    bits = votes.bound * votes.alpha.denominator.bit_length()
    return (2 * votes.bound + 1) ** 2 * (bits * bits + _LOOP) <= _MOST_LISTED


def _both_shown(votes: NoisyVotes) -> int | None:
    """The fewest others who hold the user's value so that both values are released in every round, if that can be listed."""
    others = votes.least + votes.bound + votes.users - votes.batch
    listed = (2 * votes.bound + 1) ** 2 * votes.bound * (others + 2) <= _MOST_CELLS
    return others if listed and votes.batch - others - 1 - votes.bound >= votes.least else None


def _missing_vote(m: TrieHeavyHitter, neighbours: Neighbours) -> Witness:
    """All others hold one word; the user holds nothing that counts, against being absent or holding that word too."""
    replaced = neighbours == REPLACE_ONE
    holders = [m.users - replaced] * m.levels
    there, without = m.data(holders, "", replaced), m.data(holders, m.word if replaced else None, replaced)
    return Witness(Run(m), (DataSet(there), DataSet(without)), f"a prefix of {m.word!r} has fewer than {m.batch} votes")


@dataclass(frozen=True)
class TrieProfile(PrivacyProfile):
    """Profile of the trie alone, with the data sets that its lower ends rest on."""

    m: TrieHeavyHitter  # without counts
    inner: ThresholdProfile  # of its sampling and threshold

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
