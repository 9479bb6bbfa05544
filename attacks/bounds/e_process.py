r"""The any-time test: an e-process that bets on right guesses, and ever exceeds 1/alpha with probability at most alpha.

At delta = 0 the e-process against epsilon is a mixture of likelihood ratios,

.. math:: M_t(\varepsilon) = \int_{\sigma_k(\varepsilon)}^1
          (\theta/\sigma_k)^{right} ((1-\theta)/(1-\sigma_k))^{wrong} \, d\pi(\theta),

at delta > 0, with :math:`c = e^\varepsilon/(k-1)` and :math:`\delta'` the delta times the share of the inputs that are
guessed,

.. math:: M_t(\varepsilon) = \sum_{b:\; b (c + \delta') \le 0.999} \pi_b
          (1 + b(1-\delta'))^{right} (1 - b(c+\delta'))^{wrong} (1 - b\delta')^{abstained}.

Under (epsilon, delta)-privacy a view is guessed right with probability at most :math:`c \Pr[\text{wrong}] + \delta'`,
whatever was seen before and whatever the rule of guessing learned from it: each factor has mean at most 1, M is a
nonnegative supermartingale that starts at 1 or below, and Ville's inequality bounds its maximum. So the rule may learn from
the views that are counted, and the audit may stop at any time. The prior does not depend on epsilon: as long as M exceeds
1 it falls as epsilon grows, and inverts to a bound. Source: Ville 1939; Waudby-Smith, Ramdas 2024 for the bets.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldpaudit.attacks.bounds.counts import Counts, LevelTest, logit_share

DIFFUSE = 0.15
"""Share of the prior that is spread over all bets. It costs log(1/0.15) = 1.9 nats where the bets are wrong, and 0.16 where
they are right."""
FIRST = 0.65  # share of the first bet, where there are several: the one that takes longest to tell from the claim
_STAKES = np.exp2(np.arange(-24.0, 11.0))
"""Stakes of the spread part at delta > 0, a factor 2 apart: a stake within a factor 1.5 of the best grows 0.8 times as fast."""
MOST = 0.999
"""Share of the e-process that one view may cost at delta > 0: with more at stake the logarithm would lose its digits."""
_HALVINGS = 4  # halvings of the inversion that are made at once
_PRECISION = 1e-9  # relative precision of the inversion: that of the slack to which a claim is read


@dataclass(frozen=True, slots=True)
class EProcess(LevelTest):
    """The test; see `ldpaudit.attacks.bounds.counts.LevelTest`."""

    inputs: int  # how many inputs the game draws from
    share: float  # the delta times the share of the inputs that are guessed
    alpha: float  # failure probability
    # fixed before the counted views: at delta = 0 the epsilons, at delta > 0 the stakes that are bet on most
    bets: tuple[float, ...] = ()

    def log_value(self, right: ArrayLike, wrong: ArrayLike, trials: ArrayLike, epsilon: ArrayLike) -> NDArray[np.float64]:
        """Logarithm of the e-process, rounded down; on arrays that broadcast."""
        arrays = (np.asarray(a, dtype=np.float64) for a in (right, wrong, trials, epsilon))
        right, wrong, trials, epsilon = np.broadcast_arrays(*arrays)
        odds = logit_share(epsilon, self.inputs)
        made = self._pure(right, wrong, odds) if self.share == 0 else self._staked(right, wrong, trials, odds)
        # Each of a few terms is good to 1e-15 of its size, which no count times such a logarithm exceeds.
        size = right + wrong + trials * min(1.0, 1e3 * self.share)
        return np.asarray(made - 1e-14 * size * (1 + np.abs(odds)) - 1e-9)

    def _weights(self) -> list[float]:
        """Shares of the bets, in their order."""
        if len(self.bets) < 2:
            return [1 - DIFFUSE] * len(self.bets)
        return [FIRST, *[(1 - DIFFUSE - FIRST) / (len(self.bets) - 1)] * (len(self.bets) - 1)]

    def _pure(self, right: NDArray[np.float64], wrong: NDArray[np.float64], odds: NDArray[np.float64]) -> NDArray[np.float64]:
        null = right * special.log_expit(odds) + wrong * special.log_expit(-odds)
        with np.errstate(divide="ignore"):
            # Jeffreys' prior, restricted to the part above the null.
            above = np.log(special.betainc(wrong + 0.5, right + 0.5, special.expit(-odds)))
        diffuse = special.betaln(right + 0.5, wrong + 0.5) - special.betaln(0.5, 0.5) + above - null
        # A row per bet, whatever the shape of the counts.
        rows = logit_share(self.bets, self.inputs), [math.log(w) for w in self._weights()]
        at, logs = (np.reshape(each, (-1, *(1,) * right.ndim)) for each in rows)
        bets = right * special.log_expit(at) + wrong * special.log_expit(-at) - null + logs
        terms = [diffuse + math.log(DIFFUSE if self.bets else 1), *np.where(at > odds, bets, -np.inf)]
        return np.asarray(np.logaddexp.reduce(terms))

    def _staked(
        self,
        right: NDArray[np.float64],
        wrong: NDArray[np.float64],
        trials: NDArray[np.float64],
        odds: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        abstained = trials - right - wrong
        with np.errstate(over="ignore"):
            # Rounded up, which only lowers the e-process.
            per_wrong = (np.exp(odds) + self.share) * (1 + 1e-14 * (1 + np.abs(odds)))
        spread = (DIFFUSE if self.bets else 1) / len(_STAKES)
        weights = [*[spread] * len(_STAKES), *self._weights()]
        # A row per stake, whatever the shape of the counts.
        stakes, logs = (
            np.reshape(each, (-1, *(1,) * right.ndim)) for each in ([*_STAKES, *self.bets], [math.log(w) for w in weights])
        )
        with np.errstate(over="ignore"):
            live = stakes * per_wrong <= MOST
        b = np.where(live, stakes, 0.0)
        won = right * np.log1p(b * (1 - self.share)) + abstained * np.log1p(-b * self.share)
        grown = won + wrong * np.log1p(-b * np.where(live, per_wrong, 0.0))
        return np.asarray(np.logaddexp.reduce(np.where(live, grown + logs, -np.inf)))

    def refutes(self, counts: Counts, epsilon: float) -> bool:
        return self._log(counts, epsilon) >= -math.log(self.alpha)

    def p_value(self, counts: Counts, epsilon: float) -> float:
        """See `LevelTest`; holds at every stopping time."""
        return min(1.0, math.exp(-max(0.0, self._log(counts, epsilon))))

    def epsilon_lower(self, counts: Counts) -> float:
        """See `LevelTest`; holds at every stopping time."""
        return self.bounds([counts])[0]

    def bounds(self, looks: Sequence[Counts]) -> list[float]:
        """`epsilon_lower` of the counts at several looks at one audit: all of them hold together."""
        right, wrong, trials = np.array([(c.right, c.wrong, c.trials) for c in looks], dtype=np.float64).reshape(-1, 3).T

        def refuted(epsilon: NDArray[np.float64]) -> NDArray[np.bool_]:
            return np.asarray(self.log_value(right, wrong, trials, epsilon) >= -math.log(self.alpha))

        low = np.zeros(len(looks))
        high = np.where((right > 0) & refuted(low), 1.0, 0.0)
        while (beyond := (high > 0) & refuted(high)).any():
            low, high = np.where(beyond, high, low), np.where(beyond, 2 * high, high)
        while (high - low > _PRECISION * high).any():
            # All points that the next halvings may come to are looked at together: one call takes as long for few as for one.
            points = [low, high]
            for _ in range(_HALVINGS):
                middles = [(first + last) / 2 for first, last in pairwise(points)]
                points = [low, *(point for both in zip(middles, points[1:], strict=True) for point in both)]
            table, first, last = np.array(points), np.zeros(len(low), dtype=np.int64), np.full(len(low), len(points) - 1)
            above, column = refuted(table), np.arange(len(low))
            for _ in range(_HALVINGS):
                wide, middle = high - low > _PRECISION * high, (first + last) // 2
                up, down = wide & above[middle, column], wide & ~above[middle, column]
                first, last = np.where(up, middle, first), np.where(down, middle, last)
                low, high = table[first, column], table[last, column]
        return [float(bound) for bound in low]

    def _log(self, counts: Counts, epsilon: float) -> float:
        if epsilon == math.inf:
            return 0.0
        return float(self.log_value(counts.right, counts.wrong, counts.trials, epsilon))
