"""Candidate scores for a black-box randomizer: made of the counts of its features, or learned by a classifier.

scikit-learn (extra `ml`) is imported only when a classifier is asked for.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.counts import FeatureCounts
from ldpaudit.attacks.blackbox.encoding import Encoded, Group, Skeleton
from ldpaudit.attacks.blackbox.features import LEAVES, Feature, NumberScore, Score, weighed
from ldpaudit.attacks.blackbox.weights import clear_ratio, log_ratio, monotone_ratio, parity_ratio, ramp_ratio, shared_ratios
from ldpaudit.errors import Unsupported
from ldpaudit.evidence import NOTHING_LEARNED

THRESHOLDS = 4  # numbers of a report on which thresholds are tried, per family
_CLIPPED = 1e6  # numbers are clipped here: a classifier needs finite ones
_TRAINED = 50  # reports on each input that a classifier is trained on, at least


@dataclass(frozen=True, slots=True)
class ClassifierScore:
    """The log-odds that a classifier gives the first input; 0 for a report of another skeleton."""

    skeleton: Skeleton
    model: Any
    name: str = "the log-odds of a classifier"

    def __call__(self, encoded: Encoded, size: int) -> NDArray[np.float64]:
        """Scores of the reports, in their order."""
        scores = np.zeros(size)
        if group := encoded.get(self.skeleton):
            with _alone():
                told = self.model.predict_proba(_table(group))[:, 1]
            chance = np.clip(told, 1e-9, 1 - 1e-9)
            scores[group.rows] = np.log(chance) - np.log1p(-chance)
        return scores


AnyScore: TypeAlias = Score | NumberScore | ClassifierScore
Weighted: TypeAlias = list[tuple[Feature, NDArray[np.float64]]]
_WORDS = {"whole": "whole reports", "leaf": "the report's numbers", "bag": "all values' presence"}
NOTHING = Score(NOTHING_LEARNED, {}, {})  # the score that is 0 everywhere


def ratios(book: FeatureCounts, a: int, b: int) -> Iterator[Score]:
    """Likelihood ratios of one family of features at a time, cell by cell."""
    constants = _constants(book, a, b)
    if any(constants.values()):
        yield Score("the likelihood ratio of types and lengths", constants, {})
    told = dict[str, dict[Skeleton, Weighted]]()
    for family, most, name in (
        ("whole", 1, "the likelihood ratio of whole reports"),
        ("sum", 1, "the likelihood ratio of the report's sum"),
        ("leaf", 1, "the likelihood ratio of one number of the report"),
        ("leaf", 2, "the likelihood ratios of two numbers of the report, added"),
        ("leaf", None, "the likelihood ratios of the report's numbers, added"),
        ("grid", 1, "the grid on which one number of the report lies"),
        ("pattern", 1, "the likelihood ratio of one number's frequent bit patterns"),
        ("special", 1, "the likelihood ratio of how many numbers are special"),
        ("bit", 1, "the likelihood ratio of one bit of the report"),
        ("place", 1, "the likelihood ratio of one number of the long report"),
        ("place", 2, "the likelihood ratios of two numbers of the long report, added"),
        ("place", None, "the likelihood ratios of the long report's leading numbers, added"),
        ("difference", 1, "the likelihood ratio of one difference in the report"),
        ("bag", 1, "the likelihood ratio of one value's presence"),
        ("bag", 2, "the likelihood ratios of two values' presence, added"),
        ("bag", None, "the likelihood ratios of all values' presence, added"),
        ("token", 1, "the likelihood ratio of one token's presence"),
        ("token", 2, "the likelihood ratios of two tokens' presence, added"),
        ("token", None, "the likelihood ratios of tokens' presence, added"),
        ("count", 1, "the likelihood ratio of one count over the report"),
        ("pair", 1, "the likelihood ratio of two numbers together"),
        ("pair", None, "the likelihood ratios of pairs of numbers, added"),
        *((family, None, f"the likelihood ratios of {family}, added") for family in book.families("the report's numbers given")),
    ):
        if family not in told:
            told[family] = {s: weighed(book.ranked(s, family, a, b), log_ratio, a, b) for s in book.features}
        yield from _scored(book, name, constants, {s: found[:most] for s, found in told[family].items()})
    rising = {s: [(f, monotone_ratio(f.counts[a], f.counts[b])) for f in _binned(book, s, a, b)] for s in book.features}
    for most, name in ((1, "a monotone likelihood ratio"), (2, "monotone likelihood ratios of two numbers, added")):
        yield from _scored(book, name, constants, {s: found[:most] for s, found in rising.items()})


def ramps(book: FeatureCounts, a: int, b: int) -> Iterator[Score]:
    """Scores that rise from one plateau to another, in one number or in two."""
    told = {s: [(f, ramp_ratio(f.counts[a], f.counts[b], f.cells)) for f in _binned(book, s, a, b)] for s in book.features}
    for most, name in ((1, "a ramp in one number of the report"), (2, "ramps in two numbers of the report, added")):
        yield from _scored(book, name, _constants(book, a, b), {s: found[:most] for s, found in told.items()}, most)


def posteriors(book: FeatureCounts, a: int, b: int) -> Iterator[Score]:
    """Posterior scores of many cells together: parities of bits, and ratios that cells share."""
    # One score of all forms of a report: by its name its likes are found, which are fitted to other reports.
    parities: dict[str, dict[Skeleton, Weighted]] = {}
    for s, f in ((s, f) for s, found in book.features.items() for f in found if f.family.startswith("parity")):
        weights = parity_ratio(f.counts[a], f.counts[b], int(f.family.removeprefix("parity ")))
        parities.setdefault(f.name, {})[s] = [(f, weights)]
    for name, told in parities.items():
        yield from _scored(book, name, {}, told)
    for family in ("whole", "leaf", "bag", *book.families("the report's numbers given")):
        shared: dict[Skeleton, Weighted] = {}
        for s in book.features:
            found = [f for f in book.features[s] if f.family == family]
            ratios = shared_ratios([f.counts[a] for f in found], [f.counts[b] for f in found]) if found else []
            shared[s] = list(zip(found, ratios, strict=True))
        yield from _scored(book, f"the likelihood ratios that {_WORDS.get(family, family)} share", _constants(book, a, b), shared)


def sightings(book: FeatureCounts, a: int, b: int) -> Iterator[Score]:
    """Ratios that are not shrunk: of a rare cell, a few sightings on one input and none on the other count in full."""
    constants = dict(zip(book.shapes, clear_ratio(book.shape_counts[a], book.shape_counts[b]).tolist(), strict=True))
    if any(constants.values()):
        yield Score("rare types and lengths", constants, {})
    rare = {"whole": "reports", "leaf": "numbers", "bag": "values", "token": "tokens", "sum": "sums"}
    for family, name in ((family, f"rare {words}") for family, words in rare.items()):
        own = {s: [f for f in book.features[s] if f.family == family] for s in book.features}
        yield from _scored(book, name, {}, {s: weighed(found, clear_ratio, a, b) for s, found in own.items()})


def thresholds(book: FeatureCounts, a: int, b: int) -> Iterator[NumberScore]:
    """Thresholds on one number of the most frequent form; only the middle and the direction are fitted."""
    skeleton = max(book.features, key=lambda s: book.features[s][0].counts.sum(), default=())
    for family in ("leaf", "place", "difference", "sum"):
        for f in [f for f in book.ranked(skeleton, family, a, b) if f.binned][:THRESHOLDS]:
            both = f.counts[[a, b]]
            middle = int(np.searchsorted(np.cumsum(both.sum(axis=0)), both.sum() / 2))
            shares = np.cumsum(both / np.maximum(both.sum(axis=1, keepdims=True), 1), axis=1)
            sign = 1.0 if shares[0].sum() < shares[1].sum() else -1.0  # the input with the larger values
            end = f.cells[min(max(middle, 0), len(f.cells) - 1)]
            yield NumberScore(f"thresholds on {f.name}", skeleton, f.read, float(end), sign, book.looked)


def _constants(book: FeatureCounts, a: int, b: int) -> dict[Skeleton, float]:
    weights = log_ratio(book.shape_counts[a], book.shape_counts[b])
    return {skeleton: float(weights[i]) for skeleton, i in book.shapes.items()}


def _binned(book: FeatureCounts, skeleton: Skeleton, a: int, b: int) -> list[Feature]:
    """The two numbers with bins that differ most."""
    return [f for f in book.ranked(skeleton, "leaf", a, b) if f.binned][:2]


def _scored(
    book: FeatureCounts, name: str, constants: dict[Skeleton, float], told: dict[Skeleton, Weighted], most: int = 1
) -> Iterator[Score]:
    """The score of the features whose weights are not all 0, where this many of one skeleton are left."""
    terms = {s: left for s, found in told.items() if (left := [(f, weights) for f, weights in found if weights.any()])}
    if any(len(found) >= most for found in terms.values()):
        yield Score(name, constants, terms, book.looked)


def learned(parts: Sequence[Encoded], skeleton: Skeleton, a: int, b: int, seed: int) -> ClassifierScore | None:
    """Train on the reports of one skeleton; None where there are too few, or where they hold no numbers.

    ``parts``: each input's reports, none of which the bound sees; ``skeleton``: of the reports that are used; ``a``,
    ``b``: positions of the two inputs; ``seed``: of the classifier. Raises Unsupported where scikit-learn is not
    installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise Unsupported("a learned score", "it needs scikit-learn: install ldpaudit[ml]") from None
    first, second = (parts[x].get(skeleton) for x in (a, b))
    if first is None or second is None or min(len(first.rows), len(second.rows)) < _TRAINED or not first.width:
        return None
    table = np.concatenate([_table(first), _table(second)])
    label = np.concatenate([np.ones(len(first.rows)), np.zeros(len(second.rows))])
    model = HistGradientBoostingClassifier(random_state=seed % (1 << 32), early_stopping=True)
    with _alone():
        return ClassifierScore(skeleton, model.fit(table, label))


def _alone() -> AbstractContextManager[object]:
    """One thread: audits already run side by side, and threads that compete for a core wait long."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, "openmp")
    return limits


def _table(group: Group) -> NDArray[np.float64]:
    looked = range(min(group.width, LEAVES))
    return np.clip(np.stack([group.leaves[j].astype(np.float64) for j in looked], axis=1), -_CLIPPED, _CLIPPED)
