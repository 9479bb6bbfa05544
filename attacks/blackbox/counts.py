"""How often each input shows each cell of each feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.bits import with_bits
from ldpaudit.attacks.blackbox.encoding import Encoded, Group, Skeleton
from ldpaudit.attacks.blackbox.features import LEAVES, SKELETONS, Feature, counted, features, in_tables, subtracted
from ldpaudit.attacks.blackbox.folding import beyond, in_short
from ldpaudit.attacks.blackbox.public_coins import with_coins
from ldpaudit.attacks.blackbox.tokens import with_tokens
from ldpaudit.attacks.blackbox.weights import divergence, divergences

DETAILED = 2048  # numbers in the reports of all skeletons together that are looked at one by one, at most
ALWAYS, OFTEN = 8, 16
"""Forms of reports that are looked at one by one however rare they are, and sightings that any other needs."""
PAIRS = 6  # pairs of inputs that each family of features proposes, at most


@dataclass(frozen=True, slots=True)
class FeatureCounts:
    """Counts of skeletons, and of the cells of the features of each skeleton, per input."""

    shapes: dict[Skeleton, int]
    shape_counts: NDArray[np.float64]
    features: dict[Skeleton, list[Feature]]
    looked: frozenset[Skeleton]
    """The forms whose numbers are looked at one by one; reports of all others are read in short."""
    _ranks: dict[Any, list[Feature]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, parts: Sequence[Encoded], fitting: Sequence[Encoded] | None = None) -> FeatureCounts:
        """Choose features and their cells from the pooled reports of all inputs, and count.

        Bits and places of long reports are chosen by which input is which: from `fitting` alone, where it is given.
        """
        fitting = parts if fitting is None else fitting
        often = Counter({s: 0 for part in parts for s in part})
        for part in parts:
            often.update({skeleton: len(group.rows) for skeleton, group in part.items()})
        shapes = {skeleton: i for i, (skeleton, _) in enumerate(often.most_common(SKELETONS))}
        few = [s for i, s in enumerate(shapes) if not in_short(s) and (i < ALWAYS or often[s] >= OFTEN)]
        looked = frozenset(_detailed({s: [part.get(s) for part in parts] for s in few}))
        made: dict[Skeleton, list[Feature]] = {}
        for s in (*looked, *_rest(parts, looked)):
            groups, chosen_by = _of(s, parts, looked), _of(s, fitting, looked)
            found = features(groups), with_coins(groups), with_bits(groups, chosen_by), with_tokens(s, groups, chosen_by)
            made[s] = [each for several in found for each in several]
        return cls(shapes, _often(shapes, parts), made, looked)

    def counted(self, parts: Sequence[Encoded]) -> FeatureCounts:
        """The same features of other reports."""
        made = {s: counted(found, _of(s, parts, self.looked)) for s, found in self.features.items()}
        return FeatureCounts(self.shapes, _often(self.shapes, parts), made, self.looked)

    def of_pair(self, a: int, b: int) -> FeatureCounts:
        """The counts of two inputs."""
        made = {s: [f.of(f.counts[[a, b]]) for f in found] for s, found in self.features.items()}
        return FeatureCounts(self.shapes, self.shape_counts[[a, b]], made, self.looked)

    def __sub__(self, other: FeatureCounts) -> FeatureCounts:
        made = {s: subtracted(found, other.features[s]) for s, found in self.features.items()}
        return FeatureCounts(self.shapes, self.shape_counts - other.shape_counts, made, self.looked)

    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of inputs that differ most, by one family of features or another."""
        every = list(combinations(range(len(self.shape_counts)), 2))
        if len(every) == 1:
            return every
        families: dict[str, NDArray[np.float64]] = {"shape": divergences(self.shape_counts)}
        for made in (f for per_skeleton in self.features.values() for f in per_skeleton):
            families[made.family] = families.get(made.family, 0) + divergences(made.counts)
        return sorted({p for table in families.values() for p in sorted(every, key=lambda p: -table[p])[:PAIRS]})

    def families(self, prefix: str) -> list[str]:
        """Names of families of features that begin like this."""
        every = {f.family for found in self.features.values() for f in found}
        return sorted(family for family in every if family.startswith(prefix))

    def ranked(self, skeleton: Skeleton, family: str, a: int, b: int) -> list[Feature]:
        """The features of a family; first those in which inputs `a` and `b` differ most."""
        if (skeleton, family, a, b) not in self._ranks:
            own = [f for f in self.features.get(skeleton, ()) if f.family == family]
            told = np.zeros(len(own))
            for places, counts in in_tables(own):
                told[places] = divergence(counts[:, a], counts[:, b])
            self._ranks[skeleton, family, a, b] = [own[i] for i in np.argsort(-told, kind="stable").tolist()]
        return self._ranks[skeleton, family, a, b]


def _of(skeleton: Skeleton, parts: Sequence[Encoded], looked: frozenset[Skeleton]) -> list[Group | None]:
    """The reports of one form, on each input."""
    return [(beyond(part, looked) if in_short(skeleton) else part).get(skeleton) for part in parts]


def _rest(parts: Sequence[Encoded], looked: frozenset[Skeleton]) -> list[Skeleton]:
    """The forms in short of all reports whose own is not looked at; the most frequent, if they are very many."""
    often = Counter[Skeleton]()
    for part in parts:
        often.update({form: len(group.rows) for form, group in beyond(part, looked).items()})
    return [form for form, times in often.most_common(ALWAYS) if times >= OFTEN]


def _detailed(groups: dict[Skeleton, list[Group | None]]) -> set[Skeleton]:
    """The skeletons, the most frequent first, whose numbers are looked at one by one: as many as can be."""
    widths = [max(min(group.width, LEAVES) if group else 0 for group in found) for found in groups.values()]
    within = np.cumsum(widths) <= max(DETAILED, widths[0] if widths else 0)
    return {skeleton for skeleton, looked in zip(groups, within, strict=True) if looked}


def _often(shapes: dict[Skeleton, int], parts: Sequence[Encoded]) -> NDArray[np.float64]:
    return np.array([[len(part[s].rows) if s in part else 0 for s in shapes] for part in parts], dtype=np.float64)
