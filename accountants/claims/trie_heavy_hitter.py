r"""What the TrieHH paper prints of its mechanism, as sentences, and what is found.

Zhu, Kairouz, McMahan, Sun, Li 2019 (arXiv 1902.08534). With :math:`m = \gamma \sqrt n`, Theorem 1's epsilon is
:math:`-L \ln(1 - m\theta/n)`. Its proof considers the new user's own prefix only, although other prefixes reveal the user
too, and theta votes for it only, although more votes reveal more. The first gap refutes the theorem where the batch is a
few thresholds. The second is a gap of Lemma 1's proof; the text has lost the lemma's formula, so its rows are questions of ours.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Failure, Printed, Provenance, derived, restored, rounding
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_upper
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.accountants.sampling import theorems
from ldpaudit.accountants.sampling.trie import largest_batch
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number
from ldpaudit.studies import tables

_ALONE = "the lemma is about a whole trie"
_WHOLE = "the lemma's formula is illegible; this is read from its proof, which bounds 'a ratio ... for any trie'"
_OTHERS = Failure(
    "At n = 10000, m = 100 and L = 1 the theorem holds up to theta = 11, is open from 12 to 14, and fails first at 15.",
    "The proof considers only the new user's own prefix, but in a batch of fixed size the new user takes the place of another, "
    "whose prefix may then lack a vote.",
    "At theta = 15 the certified epsilon is infinite at the printed delta, and at theta = 10, as in Table 1, it is at most 0.0373.",
)
_STEPS = Failure(
    "With theta rounded to the nearest integer, 10, it fails from n = 10585 on.",
    "1/(300 n) decreases with every user, but Theorem 1's delta, (theta - 2)/((theta - 3) theta!), only when theta grows by one.",
    "With theta rounded up the step holds for all n >= 10000.",
)
_CONDITIONS = "the conditions are from memory: the text has lost them"
BUDGETS = (1, 2, 4, 10)  # the epsilons for which Corollary 2's batch is looked at
_SHARES = (1.0, 1.5)
"""Holders of the words whose discovery is judged, as multiples of the number that casts theta votes on average."""
_COUNTED = 1 << 20
"""Largest product of the batch and the bits of n, about the bits of a number of batches, with which batches are counted."""
_SIMULATED = 10**7  # users up to whom data are made
_RELATIONS = (
    (ADD_REMOVE, "one user more or less", ""),
    (REPLACE_ONE, "one user replaced", "the paper's neighbours differ in a user who is there or not"),
)
_NOISY = "noisy votes are released too, with a share of epsilon and delta for each round, where the paper releases the trie alone"
_VOTES = "votes are released too, where the paper releases the trie alone"


EXAMPLES = (
    TrieHeavyHitter(10**4, 100, 10, 1),
    TrieHeavyHitter(10**6, 1_000, 12, 10),
    TrieHeavyHitter(10**4, 100, 20, 1),
    TrieHeavyHitter(10**4, 100, 10, 2, words=2),
    TrieHeavyHitter(10**4, 100, 10, 1, counts=1),
    # Corollary 1's threshold, rounded to the nearest integer: too small for its proof.
    TrieHeavyHitter(20_000, 142, 10, 1),
    TrieHeavyHitter(658_769, 14_478, 15, 10),
)
"""Table 1 with one level and with ten, one that refutes Theorem 1, several words, votes released too, experiments."""


def printed(m: TrieHeavyHitter) -> tuple[Printed, ...]:
    """Every claim of the paper, at these parameters; those whose formula has no value there are left out.

    ``m``: gives n, m, theta and L. Returns epsilons in nats, ratios, and probabilities.
    """
    return (*_theorems(m), *_corollary_1(m), *_table_1(m), *_corollary_2(m), *_lemmas(m), *_discovery(m))


def hypotheses(m: TrieHeavyHitter) -> tuple[Hypothesis, ...]:
    """Of Theorems 1 and 2. That other prefixes tell nothing of a user they need too, and do not state; it is not so."""
    return theorems.triehh_hypotheses(m.users, m.batch, m.threshold)


def claimed_epsilon(m: TrieHeavyHitter) -> Enclosure:
    """Theorem 1's epsilon, for m theta < n."""
    return theorems.triehh_epsilon(m.users, m.batch, m.threshold, m.levels)


def _stated(m: TrieHeavyHitter) -> bool:
    """Whether the formulas of Theorem 1 have values."""
    return m.batch * m.threshold < m.users and m.threshold > 3


def _privacy(
    m: TrieHeavyHitter, where: str, claimed: Number, delta: Fraction, provenance: Provenance,
    hypotheses: tuple[Hypothesis, ...], rounding: Number = 0, reading: str = "",
) -> Iterator[Printed]:  # fmt: skip
    for relation, said, variant in _RELATIONS:
        if relation == ADD_REMOVE or m.users > 1:
            sentence = f"epsilon at delta={float(delta):.6g}, {said}"
            found = _epsilon(m, relation, delta)
            yield Printed(where, sentence, claimed, found, hypotheses, rounding=rounding, provenance=provenance, reading=reading,
                          variant=_VOTES if m.counts else variant)  # fmt: skip


@lru_cache(maxsize=64)
def _epsilon(m: TrieHeavyHitter, relation: Neighbours, delta: Fraction) -> Enclosure:
    return account(m, relation).epsilon(delta)


def _theorems(m: TrieHeavyHitter) -> Iterator[Printed]:
    if not _stated(m):
        return
    claimed, delta = claimed_epsilon(m).high, theorems.triehh_delta(m.threshold)
    where = "TRIEHH Theorem 1" if m.words == 1 else "TRIEHH Theorem 2"
    known = Provenance.RESTORED if m.words == 1 else Provenance.DERIVED
    for row in _privacy(m, where, claimed, delta, known, hypotheses(m), reading=_CONDITIONS):
        yield replace(row, failure=_OTHERS if m.words == 1 else None)


def _corollary_1(m: TrieHeavyHitter) -> Iterator[Printed]:
    """Its delta is Theorem 1's at its theta, for both ways to make theta whole; and what it promises of the trie by that."""
    n, where = m.users, "TRIEHH Corollary 1"
    large, delta = theorems.large_enough(n), theorems.corollary_1_delta(n)
    for theta, way in zip(theorems.corollary_1_thresholds(n), ("rounded up", "rounded to the nearest integer"), strict=True):
        reading, found = f"log10(n) + 6 is {way}", Enclosure.of(theorems.triehh_delta(theta), source="the formula of Theorem 1")
        sentence = f"delta of Theorem 1 at theta={theta} for n={n} users"
        yield Printed(f"{where}, proof", sentence, round_up(delta), found, (large,), provenance=Provenance.DERIVED, reading=reading,
                      failure=_STEPS)  # fmt: skip
        if _stated(m) and m.threshold == theta and m.batch == math.isqrt(n - 1) + 1:
            epsilon = theorems.corollary_1_epsilon(n, theta, m.levels).high
            yield from _privacy(m, where, epsilon, delta, Provenance.DERIVED, (large, *hypotheses(m)), reading=reading)


def _table_1(m: TrieHeavyHitter) -> Iterator[Printed]:
    printed_for = {"users": m.users, "batch": m.batch, "threshold": m.threshold, "levels": m.levels}
    for row in tables.load("triehh_table_1").rows:
        values, budget = row.values(), Fraction(row.value)
        if printed_for.items() <= values.items():
            delta = Fraction(values["delta"])
            yield from _privacy(m, "TRIEHH Table 1", budget, delta, Provenance.PRINTED, hypotheses(m), rounding(row.value))
            if m.levels > 1 and not m.counts:
                # The budget is divided among the rounds as basic composition needs.
                least = NoisyTrieHeavyHitter.for_budget(m.users, m.batch, m.threshold, m.levels, budget, delta)
                said = f"epsilon of the trie with noisy votes at delta={float(delta):.6g}, for this epsilon by basic composition"
                yield derived("TRIEHH Table 1", said, budget, account(least).epsilon(delta), variant=_NOISY)


def _corollary_2(m: TrieHeavyHitter) -> Iterator[Printed]:
    for budget in BUDGETS if m.threshold > 3 else ():
        batch = theorems.triehh_corollary_2(m.users, m.threshold, m.levels, budget)
        if 1 <= batch <= m.users:
            chosen, delta = replace(m, batch=batch), theorems.triehh_delta(m.threshold)
            said = f"epsilon of the batch of {batch} for a budget of {budget} at delta={float(delta):.6g}, one user more or less"
            found, variant = _epsilon(chosen, ADD_REMOVE, delta), _VOTES if m.counts else ""
            yield restored("TRIEHH Corollary 2", said, float(budget), found, hypotheses(chosen), variant=variant)


def _lemmas(m: TrieHeavyHitter) -> Iterator[Printed]:
    n, batch, t = m.users, m.batch, m.threshold
    frequent, rare, where = -(-n // batch), n // batch, "TRIEHH Lemma 1"
    if t < frequent < n and batch >= t:
        forgotten = Hypothesis("the trie needs no more than theta votes for the prefix", False, stated=False)
        claimed, held = round_up(Fraction(frequent, frequent - t)), f"that W={frequent} others hold, one round"
        yield derived(where, f"P'[T]/P[T] of a trie T with a prefix {held}", claimed, lemma_1(m, frequent),
                      (*hypotheses(m), forgotten), variant=_WHOLE)  # fmt: skip
        yield derived(where, f"P'[p]/P[p] of a prefix p by itself, {held}", claimed, lemma_1_alone(m, frequent), hypotheses(m),
                      variant=_ALONE)  # fmt: skip
    if t > 3:
        found = narrow(lambda: hypergeometric_upper(n + 1, rare + 1, batch, t), "hypergeometric tail")
        # The tail grows with W: one more holder never takes a vote away. So this W is the worst that the lemma is about.
        said = f"chance of a prefix that at most W={rare} others hold, with the new user"
        yield derived("TRIEHH Lemma 2", said, round_up(theorems.triehh_delta(t)), found, hypotheses(m))


def lemma_1(m: TrieHeavyHitter, holders: int) -> Enclosure:
    r"""The largest P'[T]/P[T] of one round, for a trie T with a prefix that W other users hold.

    .. math:: (1-q) \frac{W+1}{W+1-j}

    where T has j votes for the prefix; at most min(W, m) of them. From below: T has that prefix alone, and all others hold
    g prefixes in equal parts, so that at least m - g (theta - 1) votes are needed for it.

    ``m``: gives n, m and theta; ``holders``: W, at least theta and below n. Returns INTERVAL.
    """
    n, batch, t = m.users, m.batch, m.threshold
    most = min(holders, batch)
    others = max(1, -(-(batch - most) // (t - 1))) if t > 1 else 1
    filled = (n - holders) // others >= t - 1 and n - holders >= others
    needed = max(t, batch - others * (t - 1)) if filled else t
    stays = 1 - Fraction(batch, n + 1)
    low, high = (stays * (holders + 1) / (holders + 1 - j) for j in (needed, most))
    return Enclosure.of(low, high, rigour=Rigour.INTERVAL, source=f"{others} other prefixes in equal parts")


@narrowed("hypergeometric tails")
def lemma_1_alone(m: TrieHeavyHitter, holders: int) -> flint.arb:
    """The same for the event that the prefix is released, whatever else is."""
    n, batch, t = m.users, m.batch, m.threshold
    return hypergeometric_upper(n + 1, holders + 1, batch, t) / hypergeometric_upper(n, holders, batch, t)


def missed(m: TrieHeavyHitter, holders: int) -> Fraction:
    r"""Proposition 1: the largest probability that a word of L units which W users hold is not found.

    .. math:: 1 - \Bigl( \sum_{i \ge \theta} \binom Wi \binom{n-W}{m-i} \Big/ \binom nm \Bigr)^L

    Attained where no other word shares its prefixes; exact, as rounds are drawn afresh. Source: Propositions 1 and 2.
    """
    return 1 - _enough_votes(m, holders) ** m.levels


def _enough_votes(m: TrieHeavyHitter, holders: int) -> Fraction:
    """The chance of one round, by counting batches: those with i votes are a rational multiple of those with i - 1."""
    n, batch, others = m.users, m.batch, m.users - holders
    least = max(0, batch - others)
    batches, too_few = math.comb(holders, least) * math.comb(others, batch - least), 0
    for i in range(least, min(m.threshold, batch + 1)):
        too_few += batches
        batches = batches * (holders - i) * (batch - i) // ((i + 1) * (others - batch + i + 1))
    return 1 - Fraction(too_few, math.comb(n, batch))


def _discovery(m: TrieHeavyHitter) -> Iterator[Printed]:
    for held in _holders(m) if m.words == 1 else ():
        once = narrow(partial(hypergeometric_upper, m.users, held, m.batch, m.threshold), "hypergeometric tail")
        never = narrow(
            lambda w=held: 1 - hypergeometric_upper(m.users, w, m.batch, m.threshold) ** m.levels,  # type: ignore[misc]
            "rounds are independent",
        )
        small = m.users.bit_length() * m.batch <= _COUNTED
        # By counting batches, where that takes no time: another route to the same formula.
        chance = _enough_votes(m, held) if small else Fraction(0)
        chances = (chance, 1 - chance**m.levels) if small else (once.high, never.high)
        votes, missing = map(round_up, chances)
        # The text has lost both formulas, and has the proof of one.
        yield derived("TRIEHH Proposition 2", f"chance that a prefix that {held} users hold gets theta votes", votes, once)
        yield derived("TRIEHH Proposition 1", f"chance that a word that {held} users hold is missed", missing, never)


def _holders(m: TrieHeavyHitter) -> list[int]:
    return sorted({min(m.users, math.ceil(share * m.threshold * m.users / m.batch)) for share in _SHARES})


def accuracy(m: TrieHeavyHitter) -> tuple[Accuracy, ...]:
    """Proposition 1: a word is found except with the probability that it prints, where no other word shares a prefix."""
    if m.words > 1 or m.batch < m.threshold or m.users > _SIMULATED:
        return ()

    def error(_: Any, result: Any) -> float:
        return float(m.word not in m.prefixes(result))

    return tuple(
        Accuracy(
            "TRIEHH Proposition 1",
            f"0 for a word that is found, 1 if missed: {w} of {m.users} users hold it, the others none like it",
            0.0, round_up(missed(m, w)), lambda _, w=w: _in_order(m.word, w, m.users), error,  # type: ignore[misc]
        )
        for w in _holders(m)
    )  # fmt: skip


@lru_cache(maxsize=2)
def _in_order(word: str, holders: int, users: int) -> list[str]:
    """`holders` users of one word, then users who hold a word of their own each; batches are uniform, whatever the order."""
    return [word] * holders + [f"b{i:x}" for i in range(users - holders)]


def room(m: TrieHeavyHitter, delta: Number | None = None) -> tuple[int, int]:
    """The batch, and the largest batch that is certified for the epsilon and delta that Theorem 1 claims.

    ``m``: with one word a user; ``delta``: instead of Theorem 1's. Returns in users.
    """
    target = theorems.triehh_delta(m.threshold) if delta is None else delta
    return m.batch, largest_batch(m.users, m.threshold, m.levels, Fraction(claimed_epsilon(m).low), target)
