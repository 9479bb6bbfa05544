r"""How far the numbers of messages that speak for dependent rows are from independent ones.

Each of m messages is a random linear map L, and speaks for those of K different rows that it maps to 0: for row i where
:math:`Y_i = 1`, with probability p, and for any two independently. Let D be the law of Y, I the one of K independent coins, and
:math:`w_i = (Y_i - p)/\pi` with :math:`\pi = p (1 - p)`, of which :math:`E_I[w_i^2] = 1/\pi`. N are the numbers of messages.

1. :math:`D/I = 1 + \sum_S c_S \prod_{i \in S} w_i` with :math:`c_S = E_D \prod_{i \in S} (Y_i - p)`. Because
   :math:`Y_i = p \sum_u (-1)^{u \cdot L i}` over all u of tau bits, :math:`c_S = p^s` times the number of ways to choose
   :math:`u_i \ne 0` with :math:`\sum_{i \in S} u_i i^T = 0`. Those outside a basis of S fix the others: of s rows of rank r,
   :math:`0 \le c_S \le p^r`. A row that is not in the span of the others has u = 0: then :math:`c_S = 0`. So s > r > 1.
2. Such sets with a row i: r - 1 other rows make a basis, and all the rest are in its span, of :math:`2^r - 1` rows. Where s = r + 1
   they are its sum, and each set has r such bases; else at least :math:`\prod_{0<j<r} \max(s + 1 - 2^j, r - j)/(r-1)!`. So there
   is a polynomial S, of degree 3 and more, with :math:`\sum_S c_S \prod_{i \in S} x_i \le \frac1K \sum_i S(x_i)` where all x are
   at least 0, by the means of their powers.
3. :math:`E_D f(N) = \sum_n E_I[f R_n]`, where :math:`R_n = \binom mn \sum c_{S_1} \cdots c_{S_n} \prod_i K_{a_i}(N_i)` sums over
   all n sets, of which :math:`a_i` hold row i, for given N all orders of the messages are alike, row by row. :math:`K_a` is the
   mean of the products of a different ones of m numbers, N of which are 1/p and the others -1/(1-p): a Krawtchouk polynomial,

   .. math:: (m - a)\,K_{a+1} = \bigl(m K_1 - a (1 - 2p)/\pi\bigr) K_a - (a/\pi)\,K_{a-1}, \qquad K_1 = (N - mp)/(m\pi).

   All signs made positive, this bounds :math:`|K_a| \le \kappa_a \le \rho_n^a` for a up to n, :math:`\rho_n = \max_a
   \kappa_a^{1/a}`, and so :math:`R_n \le \frac1K \sum_i \binom mn S(\rho_n(N_i))^n`, as n-th powers are convex.
4. Different products of K are orthogonal, and :math:`E_I[K_a^2] = \eta_a^{2a} = 1/\bigl(\binom ma \pi^a\bigr)`, where
   :math:`\eta_a` grows with a. So the norm of :math:`R_n` is at most :math:`\binom mn S(\eta_n)^n`. And :math:`E_I|f R_n| \le
   \sup f\, \binom mn t^n` with :math:`t = \sum |D - I|`, which is at most S(2), as :math:`E_I|w| = 2`, and at most
   :math:`\frac52 K (K-1)\,p^2`: it is K (K-1) p**2 of more than one row, as much of one row alone, and half of it of none.

So for nonnegative f, with G the sum of step 3 up to some degree, and the norms of all others, and t**n where these are large,

.. math:: E_D f(N) \le E_I\Bigl[f(N) \prod_i (1 + G(N_i))\Bigr] + T\,\|f\|_2 + T' \sup f.

G is about m c/3 for each three rows of which one is the sum of the others, times the cube of how far N is from its mean, relative
to it. Source: derived here; c_S is a characteristic polynomial of a matroid at 1/p (Crapo, Rota 1970).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.search import first
from ldpaudit.core.cached import cached

_EACH = 64
"""Degrees whose norms are bounded one by one; beyond, those of a thirty-second more at once."""


@dataclass(frozen=True)
class DependentRows:
    """K different rows, and the messages that may speak for them."""

    messages: int  # m, at least 1
    hit: Fraction  # p, in (0, 1/2]
    rows: int  # K, at least 2

    def shared(self, x: flint.arb) -> flint.arb:
        """S(x)."""
        found = flint.arb(0)
        for share in reversed(self._shares):
            found = found * x + share
        return found * x**3

    @cached
    def _shares(self) -> tuple[flint.arb, ...]:
        """Coefficients of S, the one of x**3 first."""
        k, found = self.rows, [Fraction(0)] * (self.rows + 1)
        for r in range(2, k):
            ways, most = math.comb(k - 1, r - 1), min((1 << r) - 1, k)
            for s in range(r + 1, most + 1):
                bases = math.prod(max(s + 1 - (1 << j), r - j) for j in range(1, r))
                spanned = min(ways * math.comb(most - r, s - r) * math.factorial(r - 1) // bases, math.comb(k - 1, s - 1))
                sets = ways // r if s == r + 1 else spanned
                found[s] += Fraction(k * sets, s) * self.hit**r
        return tuple(map(ball, found[3:]))

    @cached
    def terms(self) -> tuple[flint.arb, ...]:
        """Bounds of the norms of the first terms, from the one of degree 1 on."""
        return tuple(self._root(n, n) ** n for n in range(1, min(self.messages, _EACH) + 1))

    def left_out(self, degree: int, nats: float) -> tuple[flint.arb, flint.arb] | None:
        """(T, T') of the terms above a degree, T' about e**-nats; None where the norms are not known to fall."""
        moved = (5 * ball(self.rows * (self.rows - 1) * self.hit**2) / 2).min(self.shared(flint.arb(2)))
        last = first(lambda n: n * float((self._ways(n) * moved).log()) < -nats, _EACH, 1, self.messages)
        norm, n = sum(self.terms[degree:], flint.arb(0)), _EACH + 1
        while n <= last:
            end = min(last, n + n // 32)
            if not (root := self._root(n, end)) < 1:
                return None
            norm, n = norm + (end - n + 1) * root**n, end + 1
        root = flint.arb(0) if last == self.messages else self._ways(last + 1) * moved
        return norm, root ** (last + 1) / (1 - root)

    def weight(self, away: flint.arb, degree: int) -> flint.arb:
        """1 + G where the absolute value of K_1 is at most `away`; it grows with that."""
        m, p = self.messages, self.hit
        lean, back = ball((1 - 2 * p) / (p - p * p)), 1 / ball(p - p * p)
        before, here, root, found = flint.arb(1), away, flint.arb(0), flint.arb(0)
        for n in range(1, degree + 1):
            root = root.max(here ** (flint.arb(1) / n))
            found += (self._ways(n) * self.shared(root)) ** n
            before, here = here, ((m * away + n * lean) * here + n * back * before) / max(m - n, 1)
        return 1 + found / self.rows

    def _ways(self, n: int) -> flint.arb:
        """The n-th root of the number of sets of n messages; it falls with n."""
        m = flint.arb(self.messages)
        return (((m + 1).lgamma() - flint.arb(n + 1).lgamma() - (m - n + 1).lgamma()) / n).exp()

    def _root(self, first: int, last: int) -> flint.arb:
        """Upper bound of the n-th root of the norm of a term of degree n, for n from `first` to `last`."""
        return self._ways(first) * self.shared((self._ways(last) * ball(self.hit * (1 - self.hit))).rsqrt())
