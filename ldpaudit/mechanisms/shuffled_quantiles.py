r"""The median and any other quantile in the shuffled model: the first cell whose prefix count reaches the quantile.

Ghazi, Golowich, Kumar, Pagh, Velingker 2019, "On the power of multiple anonymous messages", Appendix E, over range queries
with an oracle for each width.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms.range_queries import RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.boxes import LARGEST_SIDE
from ldpaudit.mechanisms.shared.parameters import exact, integers
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class ShuffledQuantiles(Mechanism):
    r"""Users send the dyadic nodes of the cell that their number lies in; quantiles are read off the prefix counts.

    Cell j of B holds the numbers above ``(j - 1)/B`` and up to ``j/B``; 0 is in the first. The quantile of share pi is the
    midpoint of the first cell whose estimated prefix count is at least pi n; that of the last is n. Quantiles are functions
    of the released counts: any number of them costs no more than one.

    An input is a number in [0, 1]; the two that are listed lie in the first and in the last cell. A view is that of
    `RangeQueries` on these cells, which is more than the quantiles that are read off it.

    Parameters
    ----------
    cells : int
        B, from 2 to 2**32.
    users, tau, rho
        As for `RangeQueries`.

    Examples
    --------
    >>> m = ShuffledQuantiles(users=2**12, cells=2**8, tau=12, rho=100)
    >>> rng = np.random.default_rng(0)
    >>> data = rng.random(2**12) ** 2
    >>> bool(abs(m.quantile(m.run(data, rng), Fraction(1, 2)) - 1 / 4) < 0.1)
    True
    """

    core = "range_queries"
    title = "quantiles, shuffled, over range queries"
    model = "shuffled"
    shows_users = True

    users: int
    cells: int
    tau: int
    rho: int

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 50), cells=(2, LARGEST_SIDE), tau=(1, 512), rho=(1, 1 << 40))

    @property
    def ranges(self) -> RangeQueries:
        """The range queries on the cells."""
        return RangeQueries(self.users, self.cells, self.tau, self.rho)

    @property
    def inputs(self) -> tuple[Fraction, Fraction]:
        """The midpoints of the first and the last cell."""
        half = Fraction(1, 2 * self.cells)
        return half, 1 - half

    def sample(self, x: Fraction, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, of `RangeQueries` on the cells."""
        self.require_input(x)
        return self.ranges.sample(int(self.cell([float(x)])[0]), size, rng)

    def law(self, x: Fraction) -> Law:
        self.require_input(x)
        return self.ranges.law(int(self.cell([float(x)])[0]))

    def cell(self, data: ArrayLike) -> NDArray[np.int64]:
        """Number of the cell that each number, in [0, 1], lies in, from 0."""
        numbers = np.asarray(data, dtype=np.float64)
        if not np.all((numbers >= 0) & (numbers <= 1)):
            raise ValueError(f"{type(self).__name__} needs numbers in [0, 1] of all users")
        return np.maximum(np.ceil(numbers * self.cells).astype(np.int64) - 1, 0)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """For each width the number of users in its first node, without bias."""
        return self.ranges.estimate(views)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: users' numbers to the estimated number of users in each prefix of cells, shape ``(cells,)``.

        Without bias; the last one is the number of users. `quantile` reads it.
        """
        cells = self.cell(data)
        ends = np.stack([np.zeros(self.cells, dtype=np.int64), np.arange(self.cells)], axis=1)
        found = self.ranges.query(self.ranges.run(cells, rng), ends)
        found[-1] = len(cells)  # which is public
        return found

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Number of users in each prefix of cells."""
        return np.cumsum(np.bincount(self.cell(data), minlength=self.cells)).astype(np.float64)

    def quantile(self, prefixes: NDArray[np.float64], share: Number) -> float:
        """The midpoint of the first cell whose prefix count, of those that `run` returned, is at least `share` of the users.

        ``share``: pi, in (0, 1); 1/2 is the median. The quantile rises with it.
        """
        if not 0 < exact(share) < 1:
            raise ValueError(f"{type(self).__name__}.quantile needs 0 < share < 1, got {share}")
        reached = np.flatnonzero(prefixes >= float(share) * prefixes[-1])
        return (int(reached[0]) + 0.5) / self.cells  # the last count is the number of users, which reaches every share
