"""Theorem: local hashing is epsilon-LDP exactly for epsilon >= log(p(g-1)/(1-p)), whatever its hash functions.

The function is drawn before the value is looked at, so its probability is common to both inputs; given the function,
the view is g-ary randomized response on the hash, or the same on both inputs where they are hashed alike.
"""

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import HASHED, Parameters, answers, both, hashed, response


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    return (hashed("LocalHashing", "local hashing"),)


def loloha() -> tuple[Theorem, ...]:
    """As `prove`, of LOLOHA: one report is a response to a response, which any number of reports show at most.

    In a stream an epoch is a response to one of the memoized answers, which are drawn alike for all streams; and where hash values
    repeat in the same epochs of both, each of them costs what its memoized answer does.
    """
    (fresh, *laws, ratio), epochs, (more,) = response("g", "p2"), named("epochs"), nonnegative("epochs_beyond_the_first")
    longer = both(fresh, {"fields": {"epochs": 1 + more}, "recover": {more: epochs - 1}})
    return (
        _first("Loloha", "one report of LOLOHA", {"fields": {"reports": 1}, "recover": {}}),
        hashed("Loloha", "any number of reports of LOLOHA", "p1", None, ("kept",)),
        _first("LolohaStream", "one epoch of LOLOHA", {"fields": {"epochs": 1}, "recover": {}}, "user-level"),
        Theorem(mechanism="LolohaStream", sentence="a stream's reports of LOLOHA", relation="user-level", **longer,
                parts=[Part(ratio, laws, epochs)], assumes=("public",)),
        *(_kept(times) for times in ("epochs", "g")),
    )  # fmt: skip


def _kept(times: str) -> Theorem:
    """What memoized answers cost: of no more hash values than there are, or epochs."""
    (known, *laws, ratio), (more,) = response("g", "p1"), nonnegative("epochs_beyond_the_first")
    sizes = {"fields": {"epochs": 1 + more}, "recover": {more: named("epochs") - 1}}
    return Theorem(
        mechanism="LolohaStream",
        sentence=f"memoized answers of LOLOHA, at most {times} of them,",
        relation="same-pattern",
        **both(known, sizes),
        parts=[Part(ratio, laws, named(times))],
        assumes=("public", "kept", "one pattern"),
    )


def _first(mechanism: str, sentence: str, sizes: Parameters, relation: str = "replace-one") -> Theorem:
    (kept, *_), (fresh, *_), (p1, p2, g) = response("g", "p1"), response("g", "p2"), map(named, ("p1", "p2", "g"))
    known = both(kept, fresh, sizes)
    truth, lie = _chained(*(known["fields"][name] for name in ("p1", "p2", "g")))
    ratio = _chained(p1, p2, g)
    parts = [Part(ratio[0] / ratio[1], answers(truth, lie, known["fields"]["g"]))]
    return Theorem(mechanism=mechanism, sentence=sentence, relation=relation, **known, parts=parts, tight="", assumes=HASHED)


def _chained(p1: Expr, p2: Expr, g: Expr) -> tuple[Expr, Expr]:
    """The probabilities that a report is the hash of the value, and each other hash value."""
    truth = p1 * p2 + (1 - p1) * (1 - p2) / (g - 1)
    return truth, (1 - truth) / (g - 1)
