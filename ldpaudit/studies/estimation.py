"""From what users sent, or an aggregator released, to counts with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit import registry
from ldpaudit.errors import Unsupported
from ldpaudit.files.deployment import Deployment, among, table_of
from ldpaudit.files.reports import Released, Unwrap
from ldpaudit.mechanism import Mechanism, is_ours
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.studies.intervals import Intervals, intervals, variances
from ldpaudit.studies.postprocessing import WAYS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated counts, or sums, one after the other."""

    mechanism: Mechanism
    users: int
    values: tuple[Any, ...]  # what each is an estimate of: an input, or a place in what `estimate` returns
    counts: Floats
    noise: tuple[CountNoise, ...] = ()  # that an aggregator's sum has
    total: Floats | None = None  # that sum

    @classmethod
    def of_reports(cls, m: Mechanism, blocks: Iterable[NDArray[Any]]) -> Self:
        """From all users' views, in parts. Raises ValueError where there are none."""
        users, parts, found = 0, list[NDArray[Any]](), None
        # Ours add up, report by report, but for systems that name values.
        adds_up = is_ours(m) and not m.names_values
        for views in blocks:
            if not len(views):
                continue
            users += len(views)
            if adds_up:
                estimate = m.estimate(views)
                found = estimate if found is None else found + estimate
            else:
                parts.append(views)
        if not users:
            raise ValueError("needs at least one report, got none")
        if m.names_values:
            named = getattr(m, "named", None)
            if named is None:
                raise Unsupported(m, "its reports name no values by themselves: `run` is the whole system")
            pairs = named(np.concatenate(parts))
            return cls(m, users, tuple(pairs), np.array([*pairs.values()], dtype=np.float64))
        return cls._of(m, users, m.estimate(np.concatenate(parts)) if found is None else found)

    @classmethod
    def of_sum(cls, m: Mechanism, released: Released, noise: Sequence[CountNoise] = ()) -> Self:
        """From the sum of users' views, as `Mechanism.summed` adds them, to which this noise was added.

        Raises Unsupported where its views have no sum.
        """
        off = sum(float(each.mean) for each in noise)
        found = cls._of(m, released.users, m.estimate_from_sum(released.total - off, released.users))
        return replace(found, noise=tuple(noise), total=released.total)

    @classmethod
    def _of(cls, m: Mechanism, users: int, found: Floats) -> Self:
        if not np.isfinite(found).all():
            raise Unsupported(m, "its reports say nothing of the values: nothing can be estimated")
        places = [place if len(place) > 1 else place[0] for place in np.ndindex(found.shape)]
        inputs = isinstance(m.inputs, range) and len(m.inputs) == found.size and type(m).truth is Mechanism.truth
        return cls(m, users, tuple(m.inputs if inputs else places), np.ravel(found).astype(np.float64))

    def intervals(self, confidence: float, simultaneous: bool = False) -> Intervals:
        """Intervals of this confidence; simultaneous ones hold all true counts together (Bonferroni). Raises Unsupported."""
        if self.mechanism.names_values:
            raise Unsupported(self.mechanism, "no intervals: which values are named depends on the reports")
        alpha = (1 - confidence) / (len(self.counts) if simultaneous else 1)
        return intervals(self.mechanism, self.counts, self.users, alpha, self.noise, self.total)

    def processed(self, way: str) -> Floats:
        """The counts after one of the `WAYS`. Raises ValueError for what are no counts of one value per user, and none of them."""
        if way not in WAYS:
            raise ValueError(f"post-processing needs one of {', '.join(WAYS)}, got {way!r:.40}")
        if way != "none" and (type(self.mechanism).truth is not Mechanism.truth or self.mechanism.names_values):
            raise Unsupported(self.mechanism, f"{way} is for counts that sum to the number of users, which its estimates need not")
        return WAYS[way](self.counts, self.users, self.variance)

    def variance(self, counts: Floats) -> Floats:
        """Of estimates of these true counts. Raises Unsupported where it is not known."""
        own, other, added = variances(self.mechanism, self.counts, self.users, self.noise, self.total)
        return np.asarray(counts * own + (self.users - counts) * other + added)


def unwrapping(deployment: Deployment, m: Mechanism) -> Unwrap:
    """From sums of reports and noise modulo the modulus of [aggregate], if it has one, to the sums.

    As the parser checks, the modulus exceeds the range of sums and noise: what is nearer to the sums that are a modulus higher is a
    noisy sum below the least.
    """
    table = table_of(deployment.text)
    if table is None or table.aggregate is None or (modulus := table.aggregate.modulus) is None:
        return lambda total, users: total
    whole, apart = int(modulus), m.summed_range[0]

    def unwrap(total: list[Any], users: int) -> list[Any]:
        ends = 0 if m.summed == "matrix" and apart == 2 else users * apart  # least and largest sum, added: of signs; from 0 on
        return [each - whole if 2 * each > ends + whole else each for each in total]  # in integers: a modulus may exceed 2**53

    return unwrap


def noise_of(deployment: Deployment, released: Released) -> tuple[CountNoise, ...]:
    """All of the noise that is in what was released, whoever is honest."""
    found: list[CountNoise] = []
    for each in getattr(table_of(deployment.text), "noise", ()):
        made = registry.build(each.kind, each.variant, each.parameters, among(deployment.files))
        if not isinstance(made, CountNoise):  # which a deployment's parser refuses
            raise TypeError(f"needs noise on counts, got {made}")
        if each.by == "client":
            found.append(made.of_shares(released.users, each.parties))
        else:
            found += [made] * (each.parties * released.releases)
    return tuple(found)
