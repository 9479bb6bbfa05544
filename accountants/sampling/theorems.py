r"""What the papers promise of sampling and a threshold, as formulas with their hypotheses.

TrieHH (Zhu, Kairouz, McMahan, Sun, Li: Federated Heavy Hitters Discovery with Differential Privacy), sample-and-threshold
(Bharadwaj, Cormode), and amplification by subsampling. `ThresholdProfile` is the truth beside the first two. Theorem 1 of
TrieHH looks at the new user's own prefix only: where the batch is a few thresholds, other users' prefixes reveal the user
too, and the theorem fails; see `other_prefixes`.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis, require
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number, require_epsilon

_PRECISION = 192
"""Bits: beyond a float's 53, enough for what the exponentials below lose and for the last digit of their enclosures."""
_THEOREM = "TrieHH, Theorem 1"
_COROLLARY = "TrieHH, Corollary 1"


def triehh_theorem_1(users: int, batch: int, threshold: int, levels: int) -> tuple[Enclosure, Enclosure]:
    r"""TrieHH Theorem 1: the released trie is claimed to be (epsilon, delta)-DP for one user more or less, with

    .. math:: \varepsilon = L \ln\Bigl(1 + \frac{1}{\sqrt n/(\gamma\theta) - 1}\Bigr) = -L \ln\Bigl(1 - \frac{m\theta}{n}\Bigr),
              \qquad \delta = \frac{\theta - 2}{(\theta - 3)\,\theta!}, \qquad m = \gamma\sqrt n

    A claim to be judged, not a bound to rely on: it is loose by orders of magnitude where m is many thresholds, and false
    for some parameters that meet its hypotheses, such as n = 10000, m = 100, theta = 20, L = 1. Source: TrieHH, Theorem 1;
    the hypotheses are read from its proof.

    Raises ValueError that names the hypothesis that fails.
    """
    if levels < 1:
        raise ValueError(f"{_THEOREM} needs at least one level, got {levels}")
    require(_THEOREM, triehh_hypotheses(users, batch, threshold), f"n={users}, m={batch}, theta={threshold}")
    return triehh_epsilon(users, batch, threshold, levels), Enclosure.of(triehh_delta(threshold), source=_THEOREM)


def triehh_hypotheses(users: int, batch: int, threshold: int) -> tuple[Hypothesis, ...]:
    """Hypotheses of TrieHH's Theorems 1 and 2, from memory, for the text has lost them, and whether each holds."""
    n, m, t = users, batch, threshold
    return (
        Hypothesis("4 <= theta <= sqrt(n)", t >= 4 and t * t <= n),
        Hypothesis("gamma = m / sqrt(n) >= 1", m * m >= n),
        Hypothesis("gamma <= sqrt(n) / (theta + 1)", m * (t + 1) <= n),
        Hypothesis("m >= theta", m >= t),
    )


def triehh_epsilon(users: int, batch: int, threshold: int, levels: int) -> Enclosure:
    """The epsilon of TrieHH's Theorem 1, whether or not its hypotheses hold; for m theta < n."""
    share = Fraction(batch * threshold, users)
    return narrow(lambda: -levels * (-ball(share)).log1p(), _THEOREM)


def triehh_delta(threshold: int) -> Fraction:
    """The delta of TrieHH's Theorem 1, exactly; for theta above 3."""
    if threshold <= 3:
        raise ValueError(f"{_THEOREM} needs theta >= 4, got theta={threshold}")
    return Fraction(threshold - 2, (threshold - 3) * math.factorial(threshold))


def triehh_corollary_1(users: int, levels: int) -> tuple[int, Enclosure, Enclosure]:
    r"""TrieHH Corollary 1: with :math:`\theta = \log_{10} n + 6` and m = sqrt(n), epsilon as in Theorem 1, delta = 1/(300 n).

    Theta is rounded up, and m down, where they are no integers. Returns theta, epsilon, delta.
    """
    require(_COROLLARY, [large_enough(users)], f"n={users}")
    threshold = corollary_1_thresholds(users)[0]
    return threshold, corollary_1_epsilon(users, threshold, levels), Enclosure.of(corollary_1_delta(users), source=_COROLLARY)


def corollary_1_epsilon(users: int, threshold: int, levels: int) -> Enclosure:
    """The epsilon of TrieHH's Corollary 1, gamma = 1, for a theta that was made whole; theta is below sqrt(n)."""
    return narrow(lambda: levels * (1 / (flint.arb(users).sqrt() / threshold - 1)).log1p(), _COROLLARY)


def large_enough(users: int) -> Hypothesis:
    """The hypothesis of TrieHH's Corollary 1."""
    return Hypothesis("n >= 10000", users >= 10**4)


def corollary_1_thresholds(users: int) -> tuple[int, int]:
    """The theta of TrieHH's Corollary 1, log10(n) + 6: rounded up, and rounded to the nearest integer."""
    below = len(str(users)) - 1
    up, nearest = users > 10**below, users**2 > 10 ** (2 * below + 1)
    return below + up + 6, below + nearest + 6


def corollary_1_delta(users: int) -> Fraction:
    """The delta of TrieHH's Corollary 1."""
    return Fraction(1, 300 * users)


def triehh_corollary_2(users: int, threshold: int, levels: int, epsilon: Number) -> int:
    r"""TrieHH Corollary 2: the batch for a budget, rounded down,

    .. math:: m = n\,\frac{e^{\varepsilon/L} - 1}{\theta\,e^{\varepsilon/L}}

    Theorem 1's epsilon is at most the budget then; its hypotheses remain to be checked, see `triehh_theorem_1`.

    `largest_batch` finds what the truth allows.
    """
    require_epsilon(epsilon)
    if not epsilon > 0:
        raise ValueError("TrieHH, Corollary 2 needs epsilon > 0, got 0")
    with working_precision(_PRECISION + users.bit_length()):
        batch = users * -(-ball(Fraction(epsilon) / levels)).expm1() / threshold
        return int(batch.lower().floor().fmpz())


def sample_and_threshold(coin: Number, epsilon: Number, threshold: int) -> Enclosure:
    r"""Sample-and-threshold with a coin for every user: the histogram of sampled counts of at least tau is (epsilon, delta)-DP,

    .. math:: \delta = \exp\Bigl(-\tau\,\frac{\mathrm{kl}(t \,\|\, s)}{t}\Bigr), \qquad t = 1 - (1 - s) e^{-\varepsilon},

    for one user more or less, where kl is the Bernoulli divergence. With :math:`s = \alpha (1 - e^{-\varepsilon})` the exponent
    is at least :math:`\tau (\ln(1/\alpha) - 1/(1+\alpha))`, the form that Bharadwaj and Cormode print (quoted from memory).

    Valid, not tight: `ThresholdProfile` is the truth. Proof: with w + 1 holders, j sampled ones have the likelihood ratio
    :math:`(1-s)(w+1)/(w+1-j)`, which exceeds :math:`e^\varepsilon` only for :math:`j > t(w+1)`; so delta is at most
    :math:`P[\mathrm{Bin}(W, s) \ge \max(\tau, tW)]` for some W, which Chernoff bounds by
    :math:`\exp(-\max(\tau, tW)\,\mathrm{kl}(t \| s)/t)`, as kl(a||s)/a grows with a. One user less costs ln(1/(1-s)) at most.

    Raises ValueError that names the hypothesis that fails.
    """
    require_epsilon(epsilon)
    s = Fraction(coin)
    if not 0 < s < 1:
        raise ValueError(f"sample-and-threshold needs 0 < s < 1, got s={s}")
    if threshold < 1:
        raise ValueError(f"sample-and-threshold needs tau >= 1, got tau={threshold}")
    with working_precision(_PRECISION):
        back = (-ball(Fraction(epsilon))).exp()
        if not back <= ball(1 - s):
            raise ValueError(f"sample-and-threshold needs s <= 1 - exp(-epsilon), got s={s}, epsilon={epsilon}")
        t = 1 - ball(1 - s) * back
        # kl(t || s) = t ln(t/s) + (1 - t) ln((1 - t)/(1 - s)), and (1 - t)/(1 - s) = exp(-epsilon)
        divergence = (t / ball(s)).log() - (1 - t) / t * ball(Fraction(epsilon))
        return Enclosure.of((-threshold * divergence).exp(), source="sample-and-threshold, Chernoff").clamp(0.0, 1.0)


def without_replacement(epsilon: Number, delta: Number, rate: Fraction) -> tuple[Enclosure, Enclosure]:
    r"""An (epsilon, delta)-private map that runs on m of n users, drawn without replacement, is private with

    .. math:: \varepsilon' = \log\bigl(1 + q (e^\varepsilon - 1)\bigr), \qquad \delta' = q \delta, \qquad q = m/n

    for one user replaced, in the map's guarantee and in the result. Tight for m = 1, see `subsample`, whose profile is this
    at every point. Source: Balle, Barthe, Gaboardi 2018, theorem 9.

    Raises ValueError where a parameter lies outside its domain.
    """
    if not (0 <= epsilon < math.inf and 0 <= delta < 1 and 0 < rate <= 1):
        found = f"epsilon={epsilon}, delta={delta}, q={rate}"
        raise ValueError(f"subsampling needs a finite epsilon >= 0, 0 <= delta < 1 and 0 < q <= 1, got {found}")
    name = "Balle, Barthe, Gaboardi 2018, theorem 9"
    amplified = narrow(lambda: (ball(Fraction(epsilon)).expm1() * ball(rate)).log1p(), name)
    return amplified, narrow(lambda: ball(rate * Fraction(delta)), name)


def subsampled_renyi(order: int, divergences: Mapping[int, float], epsilon: float, rate: Fraction) -> Enclosure:
    r"""Renyi divergence of order alpha of a map that runs on m of n users, drawn without replacement, one user replaced.

    .. math:: \frac{1}{\alpha-1} \ln\Bigl(1 + q^2 \binom{\alpha}{2} \min\{4(e^{r_2} - 1), e^{r_2} w_2\}
              + \sum_{j=3}^\alpha q^j \binom{\alpha}{j} e^{(j-1) r_j} w_j\Bigr), \qquad
              w_j = \min\{2, (e^\varepsilon - 1)^j\}, \quad q = m/n

    where :math:`r_j` is the map's own divergence of order j, and epsilon its epsilon at delta = 0, or infinite. An upper bound, not
    tight. Source: Wang, Balle, Kasiviswanathan 2019, theorem 9, as autodp, by one of its authors, and others compute it.
    """
    if not (order >= 2 and 0 < rate <= 1 and all(math.isfinite(divergences[j]) for j in range(2, order + 1))):
        raise ValueError(f"sampled Renyi needs an order of 2 at least, 0 < q <= 1 and finite divergences, got {order} and q={rate}")

    def value() -> flint.arb:
        two, gain = flint.arb(2), ball(Fraction(epsilon)).expm1() if math.isfinite(epsilon) else None
        total = flint.arb(1)
        for j in range(2, order + 1):
            grown = ((j - 1) * ball(Fraction(divergences[j]))).exp()
            term = grown * (two if gain is None else two.min(gain**j))
            if j == 2:
                term = term.min(4 * (grown - 1))
            total += math.comb(order, j) * ball(rate) ** j * term
        return total.log() / (order - 1)

    return narrow(value, "Wang, Balle, Kasiviswanathan 2019, theorem 9")
