"""What TreeHist costs."""

from __future__ import annotations

from ldpaudit.accountants import account
from ldpaudit.accountants.composition import signs
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: TreeHistogram | SplitTreeHistogram | HashedTreeHistogram, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of one sign a user or two, or of a hash: see `of_signs` and `one_hash`."""
    return one_hash(m) if isinstance(m, HashedTreeHistogram) else of_signs(m)


def of_signs(m: TreeHistogram | SplitTreeHistogram) -> PrivacyProfile:
    r"""Exact profile of one user's sign, or two signs, to TreeHist; what the user is asked, and vectors, are known.

    .. math:: \varepsilon(0) = \log \frac{p}{1-p} \quad\text{(one sign)}, \qquad
              \varepsilon(0) = \log \frac{p}{1-p} + \log \frac{q}{1-q} \quad\text{(two)}

    The same for every user and every question: what is asked are independent bits of the value, and the user's vector is not 0,
    so that the sign is that of :math:`\langle s, x \rangle` with s not 0, and one of the values 1, 2, 4, ... has the
    opposite sign of 0; two vectors s that are not 0 have a pair of values with opposite signs in both. Tight: attained where
    what is told are the signs of x. See `composition.signs`. Source: Bassily, Nissim, Stemmer, Thakurta 2017.
    Proof: proofs/tree_histogram.py.

    ``m``: ``1/2 < p < 1``, and so q, as its constructor ensures. Returns in nats. Rigour EXACT at every epsilon.
    """
    if isinstance(m, SplitTreeHistogram):
        return signs.two_signs(m.p, m.q, "TreeHist: log(p/(1-p)) + log(q/(1-q)), attained at the signs of x")
    return signs.one_sign(m.p, "TreeHist: log(p/(1-p)), attained at y = the sign of x")


def one_hash(m: HashedTreeHistogram) -> PrivacyProfile:
    """Exact profile of one user's report to TreeHist over local hashing: that of local hashing, whatever the user is asked.

    What is asked is public and fixed by the user's index; two values of different prefixes cost what any two values of local
    hashing do, and others nothing. Tight: the first and the last value differ in every prefix. Source: Wang, Blocki, Li, Jha
    2017. Proof: proofs/tree_histogram.py.

    ``m``: as its constructor ensures. Returns in nats. Rigour EXACT at every epsilon.
    """
    return account(m.oracle)
