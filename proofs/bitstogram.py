"""Theorem: Bitstogram is epsilon-LDP exactly for epsilon >= log(p/(1-p)), with two signs for log(p/(1-p)) + log(q/(1-q)).

What a user is asked are independent bits of her value, and her public vector r is not 0: the sign (-1)^<r, cell> is
(-1)^<s, x> with s not 0, so that all is as for the sign oracle. The lemmas are about the server's counts, on which privacy
does not depend.
"""

from __future__ import annotations

import sympy

from ldpaudit.proofs._kernel import Lemma
from ldpaudit.proofs._signs import one_sign, two_signs

_COLUMN = "the rows of every question are independent and r is not 0, so the sign is (-1)^<s, x> with s not 0"


def prove() -> tuple[Lemma, ...]:
    """Check the theorems, and what the server's constants rest on.

    Raises ProofError naming the step, were one false.
    """
    one = one_sign("Bitstogram", "Bitstogram, one sign a user,", _COLUMN)
    two = two_signs("SplitBitstogram", "Bitstogram, two signs a user,", _COLUMN)
    return one, two, _differences(), _rows()


def _differences() -> Lemma:
    t = Lemma(sentence="a user's term in two cells' difference has second moment at most 2 c^2 / rho and size at most 2 c / rho")
    t.assume("a term is c y ((-1)^<r, cell> - (-1)^<r, other>) / (rho (1 + mu)) if the user is asked, with probability rho, else 0")
    t.assume("over the vectors that are not 0, the signs of two cells agree on average -mu, and 1/mu is at least 1")
    (loud, rarer, finer) = t.nonnegative("loud", "rarer", "finer")
    c, rho, mu = 1 + loud, 1 / (1 + rarer), 1 / (1 + finer)
    scale = c / (rho * (1 + mu))
    t.equal(1 - 2 * -mu + 1, 2 * (1 + mu), "the square of two signs' difference, on average")
    t.at_most(rho * scale**2 * 2 * (1 + mu), 2 * c**2 / rho, "the second moment, whatever y is")
    t.at_most(2 * scale, 2 * c / rho, "the largest term")
    t.equal(rho * scale * (1 + mu) / c, 1, "the mean for a user in the cell; by symmetry -1 in the other one, and 0 elsewhere")
    return t


def _rows() -> Lemma:
    t = Lemma(sentence="a hash function fails a value that alpha or more users hold with probability at most 1/4")
    t.admit("P[a sum is BE or more below its mean] <= e^-L", "Bernstein's inequality; Boucheron, Lugosi, Massart 2013")
    t.assume("L = ln(8 l 2^w) for l symbols of w bits; alpha = 4/3 BE; two values collide with probability <= alpha / (32 n)")
    alpha, users, symbols, parts = t.positive("alpha", "users", "symbols", "parts")
    (more,) = t.nonnegative("more")
    held = alpha + more
    others = users * alpha / (32 * users)
    t.at_most(others / (held / 4), sympy.Rational(1, 8), "Markov: more than a quarter of as many others are in the bucket")
    t.at_most(alpha * 3 / 4, held - held / 4, "else the value's symbol leads every other one by BE or more on average")
    wrong = symbols * parts / (8 * symbols * parts)
    t.at_most(wrong, sympy.Rational(1, 8), "some symbol is wrong all the same")
    t.at_most(sympy.Rational(1, 8) + wrong, sympy.Rational(1, 4), "both together")
    return t
