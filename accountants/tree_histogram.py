"""What TreeHist costs."""

from __future__ import annotations

import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.composition import signs
from ldpaudit.accountants.pld.own_law import table
from ldpaudit.accountants.shuffling.bounds import BinaryBound, Bound
from ldpaudit.accountants.shuffling.randomizers import of_law
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(
    m: TreeHistogram | SplitTreeHistogram | HashedTreeHistogram, neighbours: Neighbours = REPLACE_ONE
) -> PrivacyProfile:
    """Profile of one sign a user, of two, or of a hash: see `one_sign`, `two_signs` and `one_hash`."""
    if isinstance(m, HashedTreeHistogram):
        return one_hash(m)
    return two_signs(m) if isinstance(m, SplitTreeHistogram) else one_sign(m)


def one_sign(m: TreeHistogram) -> PrivacyProfile:
    r"""Exact profile of one user's report to TreeHist; what the user is asked, and the user's vector, are known.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon (1-p)\bigr)_+, \qquad
              \varepsilon(0) = \log \frac{p}{1-p}

    The same for every user and every question: what is asked are independent bits of the value, and the user's vector is not 0,
    so that the sign is that of :math:`\langle s, x \rangle` with s not 0, and one of the values 1, 2, 4, ... has the
    opposite sign of 0. Tight: attained on {y is the sign of x} by these two. Source: Bassily, Nissim, Stemmer, Thakurta
    2017, whose users answer several questions. Proof: proofs/tree_histogram.py.

    Parameters
    ----------
    m : TreeHistogram
        ``1/2 < p < 1``, as its constructor ensures.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    return signs.one_sign(m.p, "TreeHist: log(p/(1-p)), attained at y = the sign of x")


def two_signs(m: SplitTreeHistogram) -> PrivacyProfile:
    r"""Exact profile of one user's two signs, of prefix and whole value: the composition of two coins.

    .. math:: \varepsilon(0) = \log \frac{p}{1-p} + \log \frac{q}{1-q}

    Two values whose signs differ in both columns are the worst pair: one that agrees in a sign shows the other one only.
    Every two columns that are not 0 have such a pair. Tight: attained where both signs are those of x. Source: Bassily,
    Nissim, Stemmer, Thakurta 2017. Proof: proofs/tree_histogram.py.

    Parameters
    ----------
    m : SplitTreeHistogram
        ``1/2 < p < 1`` and ``1/2 < q < 1``, as its constructor ensures.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    return signs.two_signs(m.p, m.q, "TreeHist: log(p/(1-p)) + log(q/(1-q)), attained at the signs of x")


def one_hash(m: HashedTreeHistogram) -> PrivacyProfile:
    """Exact profile of one user's report to TreeHist over local hashing: that of local hashing, whatever the user is asked.

    What is asked is public and fixed by the user's index; two values of different prefixes cost what any two values of local
    hashing do, and others nothing. Tight: the first and the last value differ in every prefix. Source: Wang, Blocki, Li, Jha
    2017. Proof: proofs/tree_histogram.py.

    Parameters
    ----------
    m : HashedTreeHistogram
        As its constructor ensures.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT at every epsilon.
    """
    return account(m.oracle)


def shuffled(m: TreeHistogram | SplitTreeHistogram | HashedTreeHistogram, users: int) -> Bound | None:
    """Binary randomized response of one sign, in one public column; of two, the laws of the four pairs; of a hash, epsilon0."""
    if isinstance(m, HashedTreeHistogram):
        return None
    if isinstance(m, SplitTreeHistogram):
        return of_law(table(m, m.typical), users)
    first, second = m.apart
    sign = int(m.signs(first, np.array([m.index]))[0])
    return BinaryBound(m.p, users, (first, second), str((m.index, sign)))
