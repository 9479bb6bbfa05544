"""Proofs that a program without ours checks: a plan in its words, compared with the code's law, and what makes it VALID.

The program is `verify_certificate.py`, which shares no line with the accountants. Nothing here is trusted but the comparison: a
proof of the wrong number is INVALID, whoever made it, and one of another law is refused here.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.certificates import verify_certificate as checker
from ldpaudit.core.remembered import remembered
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import Contradiction, Unsupported
from ldpaudit.mechanism import ENUMERABLE, Mechanism, number_of
from ldpaudit.mechanisms import has_own_law, homes, part_of, stem
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Aggregate, Compose, Plan, PostProcess, Repeat, Run, Shuffle
from ldpaudit.verdict import Proof as Proof

_MOST_ENTRIES = 1 << 15  # probabilities of laws that are compared: half a second
_MOST_ROWS = 1 << 12  # entries of a channel that is written out
_LOOSER = 1 + Fraction(1, 200)
"""How much larger the proved number may be than a question's answer, where sums are taken on a lattice."""
_FAR = 20  # how many times too large a delta on the second lattice is too far: the rules see less noise than there is
_SHARES = (10, 40, 160, 300, 600)  # of users, of which the shortest range of a count has one: ever finer ranges to try
_MOST_VIEWS = 1 << 12  # of a law that is compared; where it has more, and a sibling, that is
_WORK = 10**8  # Of one try: some twenty seconds. A proof takes a minute at most to be checked.


def program() -> bytes:
    """The file that checks proofs, as it is shipped."""
    return Path(checker.__file__).read_bytes()


@remembered
def prove(plan: Plan, neighbours: Neighbours, epsilon: Fraction | None, delta: Fraction, known: Enclosure) -> Proof:
    """A proof of a claim, or of what refutes it; without an epsilon of the certified answer, or of a little more.

    ``plan``, ``neighbours``: what is claimed to be private, for whom; ``epsilon``: the claimed one, in nats; ``delta``:
    in [0, 1); ``known``: what the accountants say of epsilon. Raises Unsupported where no word says what the plan is,
    or no rule reaches the number; Contradiction where a law is not that of the word that stands for it.
    """
    kind = "replace-one" if neighbours.kind == "group" else neighbours.kind
    if kind not in ("replace-one", "add-remove"):
        raise Unsupported(plan, f"no standalone rule for {kind} neighbours")
    laws: dict[str, None] = {}
    checker.spent, checker.most = 0, checker.WORK  # by laws that are compared
    try:
        said = _in_words(plan, kind, laws)
    except checker.Invalid as error:
        raise Unsupported(plan, f"no standalone rule: {error}") from None
    says, slack = "private", 1 + Fraction(1, 10**9)  # to which claims are read
    if epsilon is None and not known.high < float("inf"):
        raise Unsupported(plan, "no finite epsilon is certified, so that nothing is proved")
    if epsilon is None:
        exact = [_rounded_up(Fraction(known.high) * slack)]
        by_sums = _rounded_up(Fraction(known.high) * _LOOSER)
    elif known.low > epsilon * slack:
        says, exact, by_sums = "not private", [epsilon], None
    else:
        exact, by_sums = [epsilon, epsilon * slack], epsilon
    tries = [(target, dict[str, Any]()) for target in exact]
    finer: list[dict[str, Any]] = []
    if by_sums is not None and delta > 0:
        try:
            own, finer = _witnesses(said, by_sums, delta)
        except checker.Invalid as error:
            raise Unsupported(plan, f"the standalone checker takes no such numbers: {error}") from None
        tries += [*((exact[0], witness) for witness in own), (by_sums, {}), *((by_sums, witness) for witness in finer)]
    problem, finished, second = "", False, finer[1] if finer else None
    for target, witness in tries:
        record = {"schema": f"ldpaudit.proof/{checker.VERSION}", "plan": said, "relation": str(neighbours), "says": says,
                  "epsilon": _spelled(target), "delta": str(delta), "witness": witness}  # fmt: skip
        try:
            _, rests = checker.check(record, _WORK)
        except checker.Invalid as error:
            if not (finished and checker.spent > _WORK):  # what the finest lattice gave that took no more
                problem = str(error)
            finished = bool(witness)
            delta_found = re.match(r"delta may be ([^,]*),", problem)
            far = delta_found and float(delta_found[1]) > _FAR * delta and witness == second
            if far or checker.spent > _WORK:  # finer lattices take more, and some are not worth trying
                break
            continue
        except ValueError as error:  # numbers of more digits than Python writes
            raise Unsupported(plan, f"the standalone checker takes no such numbers: {error}") from None
        theorems = "; ".join(checker.THEOREMS[each] for each in sorted(rests)) or "the definition alone"
        return Proof(record, target, delta, f"{'; '.join(laws)}; it rests on: {theorems}")
    if getattr(plan, "noise", ()) and "discrete_gaussian" not in said:
        problem = "it leaves out the noise that is added to the sum"
    raise Unsupported(plan, f"the standalone checker does not reach the number: {problem}")


def _spelled(number: Fraction) -> str:
    """Decimal, where it is a short one."""
    digits = Context(prec=16).divide(number.numerator, number.denominator)
    return f"{digits:f}" if Fraction(digits) == number else str(number)


def _rounded_up(number: Fraction) -> Fraction:
    return Fraction(Context(prec=12, rounding=ROUND_CEILING).divide(number.numerator, number.denominator))


def _witnesses(said: dict[str, Any], epsilon: Fraction, delta: Fraction) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lattices to try: those on which all losses lie as they are, and others, ever finer."""
    digits = 24 + len(str(delta.denominator // max(1, delta.numerator)))
    reports = [part for part, _ in checker.parts(said, set(), {})]
    crowds = list(_crowds(said))
    alike = len({each["users"] for each in crowds}) == 1 and (crowds[0]["users"] > 1 or "discrete_gaussian" in crowds[0])
    counts = alike and all(map(_is_counted, crowds))
    finer: list[dict[str, Any]] = [{"digits": digits} for _ in range(5)]
    own: list[dict[str, Any]] = []
    if counts:
        for witness, share in zip(finer, _SHARES, strict=True):
            witness["starts"] = _starts(crowds[0]["users"], Fraction(1, share))
    elif crowds and all(each["of"]["word"] in checker.HIDDEN for each in crowds):
        most = math.ceil(max(checker.largest_ratio(checker.cases(each["of"], "replace-one")) for each in crowds))
        for witness, k in zip(finer, (4, 6, 8, 10, 12), strict=True):
            witness["step"] = str(Fraction(most, 2**k))
    parts = checker.parts(said, set(), finer[0])
    if len(parts) > 1 or parts[0][1] > 1:
        if not crowds and not any(part["word"] in ("laplace", "binomial", "discrete_gaussian") for part in reports):
            ratios = {checker.largest_ratio(checker.cases(part, "replace-one")) for part in reports}
            own = [{"digits": digits, "ratio": str(ratio)} for ratio in ratios if len(ratios) == 1 and 1 < ratio < 1000]
        least = max(epsilon, Fraction(1, 10**6))
        for witness, k, share in zip(finer, (5, 7, 8, 9, 11), _SHARES, strict=True):
            k = math.ceil(Fraction(2 * share, 5) / least).bit_length() if counts else k
            witness["ratio"] = str(Fraction(2**k + 1, 2**k))
    elif parts[0][0]["word"] == "discrete_gaussian":
        own = [{"digits": digits}]
    return own, finer


def _crowds(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The shuffles and sums of which a plan consists."""
    if said["word"] in ("shuffle", "sum"):
        yield said
    elif "of" in said:
        for each in said["of"] if said["word"] == "compose" else [said["of"]]:
            yield from _crowds(each)


def _is_counted(crowd: dict[str, Any]) -> bool:
    """Whether how many users have a bit, or one of two values, is all that is seen of it."""
    inner = crowd["of"]
    of_two: bool = inner["word"] == "randomized_response" and inner["k"] == 2 and "discrete_gaussian" not in crowd
    return of_two or (crowd["word"] == "sum" and inner["word"] == "bits")


def _starts(users: int, share: Fraction) -> list[int]:
    """Of ranges of how many others have a bit: short ones near none and all, where neighbours differ most."""
    half, at = [0], Fraction(0)
    while (at := at + share * (1 + 10 * at)) < Fraction(1, 2):
        half.append(int(users * at))
    return sorted({*half, *(users - each for each in half[1:])} - {users})


def _in_words(plan: Plan, relation: str, laws: dict[str, None]) -> dict[str, Any]:
    """A plan in the checker's words; each law is compared with what stands for it."""
    match plan:
        case Run(mechanism):
            return _leaf(mechanism, relation, laws)
        case Repeat(inner, times):
            return {"word": "repeat", "of": _in_words(inner, relation, laws), "times": times}
        case Compose(several):
            return {"word": "compose", "of": [_in_words(part, relation, laws) for part in several]}
        case PostProcess(inner):
            return _in_words(inner, relation, laws)
        case Shuffle(inner, users) | Aggregate(inner, users):
            of, sketch = _in_words(inner, relation, laws), isinstance(inner, Run) and inner.mechanism.summed == "matrix"
            if sketch and of["word"] == "bits":  # values of one bucket differ in no bit, and no theorem says that they cost less
                raise Unsupported(plan, "no standalone rule for sketches of many users")
            # What is left out, and rows of which each user fills one, make of a sum another view of the reports.
            if not isinstance(plan, Aggregate) or plan.most_ones is not None or sketch:
                return {"word": "shuffle", "of": of, "users": users}
            known = bool(plan.noise) and all(type(each) is DiscreteGaussian for each in plan.noise)  # any other is left out
            noise = {"discrete_gaussian": [str(each.sigma**2) for each in plan.noise]} if known else {}
            return {"word": "sum", "of": of, "users": users, **noise}
    raise Unsupported(plan, f"no standalone rule for {type(plan).__name__}")


def _leaf(m: Mechanism, relation: str, laws: dict[str, None]) -> dict[str, Any]:
    """The word of a mechanism, compared with its law; where none is known, the law itself, written out."""
    home: Any = None if has_own_law(m) else part_of(stem(m), "proof")
    if home is None and not has_own_law(m):
        found = (each for each in homes(stem(m)) if find_spec(f"ldpaudit.proofs.{each}") is not None)
        home = next((import_module(f"ldpaudit.proofs.{each}") for each in found), None)
    said: dict[str, Any] | None = home.leaf(m, relation) if hasattr(home, "leaf") else None
    if said is None:
        said = _written_out(m, relation)
        laws[f"{type(m).__name__}: its law, written out, views of proportional probabilities as one"] = None
        return said
    try:
        size = m.law(m.inputs[0]).size
    except Unsupported:
        laws[f"{type(m).__name__}: infinitely many views, so that its law was not compared"] = None
        return said
    of, beyond = m, ""
    if size > _MOST_VIEWS and hasattr(home, "sibling"):
        of, beyond = home.sibling(m), f" of {home.sibling(m)}, beyond by structure"
        said_of = home.leaf(of, relation)
    elif size > ENUMERABLE:
        raise Unsupported(m, f"no standalone rule: its law has {size} views, and is not compared with any word")
    else:
        said_of = said
    laws[f"{type(m).__name__}: compared with the code's law on {_compare(of, said_of, relation)}{beyond}"] = None
    return said


def _written_out(m: Mechanism, relation: str) -> dict[str, Any]:
    """A channel: the law on each input, and first on that of an absent user, where neighbours are such."""
    if (m.model != "local" and not has_own_law(m)) or relation not in [each.kind for each in m.relations]:
        raise Unsupported(m, f"no standalone rule for {m.title}")
    too_long = Unsupported(m, f"no standalone rule for {m.title}, whose law is too long to be written out")
    inputs = [*([None] if relation == "add-remove" else []), *(m.inputs if number_of(m.inputs) < _MOST_ROWS else ())]
    if not inputs or len(inputs) * m.law(inputs[0]).size > _MOST_ENTRIES:
        raise too_long
    rows = [dict(m.law(x).items()) for x in inputs]
    columns: dict[tuple[Fraction, ...], Fraction] = {}
    for y in dict.fromkeys(y for row in rows for y in row):
        column = [Fraction(row.get(y, 0)) for row in rows]
        if total := sum(column):
            shares = tuple(p / total for p in column)  # views of one share each tell as much as all of them together
            columns[shares] = columns.get(shares, Fraction(0)) + total
    if len(columns) * len(inputs) > _MOST_ROWS:
        raise too_long
    written = [[str(shares[i] * total) for shares, total in columns.items()] for i in range(len(inputs))]
    return {"word": "channel", "rows": written}


def _compare(m: Mechanism, said: dict[str, Any], relation: str) -> str:
    """Hold each ordered pair's probabilities against those of the word: how many pairs. Raises Contradiction."""
    inputs: Sequence[Any] = m.inputs
    size, number = m.law(inputs[0]).size, number_of(inputs)
    most = max(3, min(number, int((_MOST_ENTRIES / size) ** 0.5)))
    if number > most:  # the first ones, the last one, and some between
        inputs = [inputs[i * (number - 1) // (most - 1)] for i in range(most)]
    absent = [None] if relation == "add-remove" else []
    places: dict[Any, int] = {}
    numbers: dict[Fraction, int] = {Fraction(0): 0}  # a law has many views, and few probabilities
    laws = {x: [(places.setdefault(y, len(places)), numbers.setdefault(Fraction(p), len(numbers)))
                for y, p in m.law(x).items()] for x in (*inputs, *absent)}  # fmt: skip
    table = {x: np.zeros(len(places), dtype=np.int64) for x in laws}
    for x, law in laws.items():
        table[x][[place for place, _ in law]] = [p for _, p in law]
    shares, most = list(numbers), len(numbers)
    pairs = list(permutations(inputs, 2))
    if absent:
        pairs = [pair for x in inputs for pair in ((x, None), (None, x))]
    # Of bits that differ in fewer places the word says no more: they cost less.
    fewer = [{**said, "only_here": i, "only_there": j} for i in range(said["only_here"] + 1) for j in range(said["only_there"] + 1)
             if i + j] if said["word"] == "bits" else [said]  # fmt: skip
    allowed = {_by_ratio(cells) for words in fewer for cells in checker.cases(words, relation)}
    for x, other in pairs:
        codes, often = np.unique(table[x] * most + table[other], return_counts=True)
        both = zip(often.tolist(), *(each.tolist() for each in np.divmod(codes, most)), strict=True)
        found = _by_ratio((views, shares[p], shares[q]) for views, p, q in both)
        if found not in allowed and len(found) > 1:  # two inputs whose views have one law cost nothing
            what = f"{m} is not what the word {said['word']!r} says, on {x!r} and {other!r}"
            raise Contradiction(f"internal error, please report it: {what}")
    whole = number * (number - 1) if relation == "replace-one" else 2 * number
    return f"{len(pairs)} of {whole} ordered pairs of inputs"


def _by_ratio(cells: Iterable[tuple[int, Fraction, Fraction]]) -> frozenset[tuple[Fraction | None, Fraction, Fraction]]:
    """The probabilities of all views with one ratio of P to Q, taken together; no more of two laws tells them apart."""
    found: dict[Fraction | None, list[Fraction]] = {}
    for views, p, q in cells:
        if views and (p or q):
            both = found.setdefault(p / q if q else None, [Fraction(0), Fraction(0)])
            both[0] += views * p
            both[1] += views * q
    return frozenset((ratio, p, q) for ratio, (p, q) in found.items())
