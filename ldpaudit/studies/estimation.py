"""From what users sent, or an aggregator released, to counts with intervals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit import registry
from ldpaudit.core.units import stream
from ldpaudit.errors import Unsupported
from ldpaudit.files.deployment import Deployment, among, table_of
from ldpaudit.files.ids import Ids
from ldpaudit.files.reports import Released, ReportForm, Tally, Unwrap, blocks
from ldpaudit.files.whole import Saved
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.studies.intervals import Intervals, intervals, variances
from ldpaudit.studies.postprocessing import WAYS
from ldpaudit.studies.sums import Summing, summing
from ldpaudit.workers.experiment import HERE, Execution
from ldpaudit.workers.runs import LARGEST_FILE, loaded, packed, unpacked

SCHEMA = "ldpaudit.estimate/1"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated counts, or sums, one after the other."""

    mechanism: Mechanism
    users: int
    values: tuple[Any, ...]  # what each is an estimate of: an input, or a place in what `estimate` returns
    counts: Floats
    noise: tuple[CountNoise, ...] = ()  # that an aggregator's sum has
    total: NDArray[Any] | None = None  # that sum, or what reports add up to

    @classmethod
    def of_reports(cls, m: Mechanism, blocks: Iterable[NDArray[Any]]) -> Self:
        """From all users' views, in parts. Raises ValueError where there are none."""
        some = [*blocks]
        way = summing(m, ReportForm.of(m))
        return cls._of_total(way, way.total(some), sum(map(len, some)))

    @classmethod
    def of_files(cls, m: Mechanism, files: Sequence[Path], tally: Tally, execution: Execution = HERE) -> Self:
        """From files of reports, as `added_up` reads them. Raises ValueError where there are none."""
        return cls._of_total(*added_up(m, files, tally, execution), tally.accepted)

    @classmethod
    def _of_total(cls, way: Summing, total: NDArray[Any] | None, users: int) -> Self:
        if total is None:
            raise ValueError("needs at least one report, got none")
        if way.m.names_values:
            if (named := getattr(way.m, "named", None)) is None:
                raise Unsupported(way.m, "its reports name no values by themselves: `run` is the whole system")
            pairs = named(total)
            return cls(way.m, users, tuple(pairs), np.array([*pairs.values()], dtype=np.float64))
        return replace(cls._of(way.m, users, way.estimate(total, users)), total=total)

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


def added_up(m: Mechanism, files: Sequence[Path], tally: Tally, execution: Execution = HERE) -> tuple[Summing, NDArray[Any] | None]:
    """What estimates need of reports in files, whose number and order change nothing but which of two with one id is the second.

    ``tally``: counts what is read; ``execution``: who reads a file, where the state is kept, and who is told: how many reports
    there are so far, and of how many files. Raises ValueError where the checkpoint is another one; DeploymentError where a file
    cannot be read.
    """
    way = summing(m, ReportForm.of(m))
    saved = None
    if execution.checkpoint is not None:
        work = f"{m!r} {[(str(file), file.stat().st_size) for file in files]} {np.__version__}"
        saved = Saved(Path(execution.checkpoint), "estimate", SCHEMA, work, LARGEST_FILE)
    done, total = (None if saved is None else loaded(saved, lambda data: _resumed(data, tally))) or (0, None)

    def told(more: int) -> None:
        if execution.progress is not None:
            execution.progress(tally.accepted + more, done)

    # In this process ids that were there before are known at once; where others read, they are compared afterwards.
    here = execution.executor is None
    parts = (_Part(m, file, tally.ids if here else Ids(), told if here else None) for file in files[done:])
    for file, (added, more) in zip(files[done:], stream(parts, execution.executor), strict=True):
        if not tally.add(more):
            added, more = _Part(m, file, tally.ids)()
            tally.add(more)
        if added is not None:
            total = way.add(total, added)
        done += 1
        if saved is not None:
            saved.save({"files": done, "sum": None if total is None else packed(_wide(total)), "tally": tally.state()})
        told(0)
    return way, total


@dataclass(frozen=True, slots=True)
class _Part:
    """A file whose reports are to be added up."""

    m: Mechanism
    file: Path
    before: Ids  # of other files' reports
    told: Callable[[int], None] | None = None  # how many reports there are

    def __call__(self) -> tuple[NDArray[Any] | None, Tally]:
        tally, form = Tally(before=self.before), ReportForm.of(self.m)

        def read() -> Iterator[NDArray[Any]]:
            for views in blocks(self.file, self.m, form, tally):
                if self.told is not None:
                    self.told(tally.accepted)
                yield views

        return summing(self.m, form).total(read()), replace(tally, before=Ids())

    def __str__(self) -> str:
        return str(self.file)


def _wide(total: NDArray[Any]) -> NDArray[Any]:
    """In the types that a checkpoint holds; of reports themselves, which `estimate` takes in these, too."""
    return total if total.dtype.kind == "O" else total.astype(np.float64 if total.dtype.kind == "f" else np.int64)


def _resumed(data: Any, tally: Tally) -> tuple[int, NDArray[Any] | None]:
    """How many files are read, and the sum of their views; what they held is added to the tally."""
    tally.add(Tally.from_state(data["tally"]))
    return int(data["files"]), None if data["sum"] is None else unpacked(data["sum"])


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
