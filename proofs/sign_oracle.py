"""Theorems: public questions, answered by a sign, cost log(p/(1-p)); by two signs, log(p/(1-p)) + log(q/(1-q)); and by a hash.

What a user is asked, and with which vector, is public and drawn before the value is looked at: given it, a report is randomized
response on one sign, (-1)^<s, x> with s not 0, or on two. That holds of the sign oracle, and of every system that is built on it:
what the hashtogram, TreeHist, Bitstogram and PrivateExpanderSketch hash costs accuracy, never privacy.
"""

from ldpaudit.proofs._kernel import Part, Theorem
from ldpaudit.proofs._parameters import both, coin, flipped, hashed


def prove() -> tuple[Theorem, ...]:
    """Check the sign oracle's theorem. Raises ProofError naming the step, were one false, as do all below."""
    return (_signs("SignOracle", "the sign oracle", "p"),)


def hashtogram() -> tuple[Theorem, ...]:
    """As the sign oracle's: the sign H[A x, r] is (-1)^<A^T r, x>."""
    return (_signs("Hashtogram", "the hashtogram", "p"),)


def tree_histogram() -> tuple[Theorem, ...]:
    """TreeHist's; over local hashing, every prefix of the first value and of the last one differs."""
    return *_one_and_two("TreeHistogram", "TreeHist"), hashed("HashedTreeHistogram", "TreeHist over local hashing")


def prefix_extending() -> tuple[Theorem, ...]:
    """PEM's, over local hashing and over the sign oracle."""
    return hashed("PrefixExtending", "PEM"), _signs("SignPrefixExtending", "PEM over the sign oracle", "p")


def bitstogram() -> tuple[Theorem, ...]:
    """Bitstogram's."""
    return _one_and_two("Bitstogram", "Bitstogram")


def expander_sketch() -> tuple[Theorem, ...]:
    """PrivateExpanderSketch's; how names are matched is the server's."""
    return _one_and_two("ExpanderSketch", "PrivateExpanderSketch")


def _one_and_two(mechanism: str, name: str) -> tuple[Theorem, Theorem]:
    return _signs(mechanism, f"{name}, one sign a user,", "p"), _signs(f"Split{mechanism}", f"{name}, two signs a user,", "pq")


def _signs(mechanism: str, sentence: str, coins: str) -> Theorem:
    """Signs (-1)^<s, x> with s not 0, each told with the probability that is named so."""
    told = [(coin(name), f"the sign that is told with {name}") for name in coins]
    return Theorem(
        mechanism=mechanism,
        sentence=sentence,
        **both(*(known for (known, _, _), _ in told)),
        parts=[Part(odds, flipped(p, what)) for (_, p, odds), what in told],
        tight="",
        assumes=("public", "independent", "signs"),
    )
