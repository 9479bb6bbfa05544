"""What public questions about a value cost, answered by a sign, by two, or by a hash: the sign oracle, and systems built on it."""

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.product import product_profile
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.public_questions.public_sign import PublicSign
from ldpaudit.mechanisms.shared.public_questions.questions import SplitSigns
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.mechanisms.tree_histogram import HashedAnswers
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: PublicSign | SplitSigns | HashedAnswers, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of one user's report to whichever server: see `of_signs` and `one_hash`. How the server decodes costs nothing."""
    return one_hash(m) if isinstance(m, HashedAnswers) else of_signs(m)


def of_signs(m: PublicSign | SplitSigns) -> PrivacyProfile:
    r"""Exact profile of one user's sign, or two signs, in answer to public questions; these, and the vectors, are known.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon (1-p)\bigr)_+, \quad
              \varepsilon(0) = \log \frac{p}{1-p} \quad\text{(one sign)}, \qquad
              \varepsilon(0) = \log \frac{p}{1-p} + \log \frac{q}{1-q} \quad\text{(two)}

    The same for every user and every question. What is asked (a column of the sign oracle's matrix, a hash, a prefix, a symbol of
    a code, hashed names) are independent bits of the value, and the user's vector is not 0, so that the sign is that of
    :math:`\langle s, x \rangle` with s not 0, and one of the values 1, 2, 4, ... has the opposite sign of 0; two vectors s that
    are not 0 have a pair of values with opposite signs in both, which is the worst: a pair that agrees in a sign shows the other
    one only. Tight: attained where what is told are the signs of x.

    The talk on the sign oracle (slides "LDP warm-up" and "Frequency oracle for large domains") tells the truth "with probability
    about 1/2 + epsilon" and calls that epsilon-LDP. With exactly 1/2 + epsilon the cost is
    :math:`\log\frac{1+2\varepsilon}{1-2\varepsilon} = 4\varepsilon + \tfrac{16}{3}\varepsilon^3 + \dots`, four times as
    much; `SignOracle.for_epsilon` has the largest probability that keeps the promise, about 1/2 + epsilon/4.
    Source: Warner 1965; Bassily, Nissim, Stemmer, Thakurta 2017; Bun, Nelson, Stemmer 2018. Proof: proofs/sign_oracle.py.

    ``m``: ``1/2 < p < 1``, and so q, as its constructor ensures. Returns in nats. Rigour EXACT at every epsilon.
    """
    bound = " + ".join(["log(p/(1-p))", "log(q/(1-q))"][: len(m.coins)])
    attained = f"y = {m.sign}" if isinstance(m, PublicSign) else "the signs of x"
    # Telling the opposite of all signs maps one order of the pair onto the other.
    pair = [([(p, 1 - p), (1 - p, p)], 1) for p in m.coins]
    return product_profile([pair], f"{m.title.partition(',')[0]}: {bound}, attained at {attained}")


def one_hash(m: HashedAnswers) -> PrivacyProfile:
    """Exact profile of one user's report to TreeHist over local hashing: that of local hashing, whatever the user is asked.

    What is asked is public and fixed by the user's index; two values of different prefixes cost what any two values of local
    hashing do, and others nothing. Tight: the first and the last value differ in every prefix. Source: Wang, Blocki, Li, Jha
    2017. Proof: proofs/sign_oracle.py.

    ``m``: as its constructor ensures. Returns in nats. Rigour EXACT at every epsilon.
    """
    return account(m.oracle)


def expected_error_bound(m: SignOracle) -> Enclosure:
    r"""From 0 to a bound of the expected largest error over all values, for any data of `users` users.

    .. math:: E \max_j |\hat x_j - x_j| \le \frac{\sqrt{2 n \ln 2B}}{(2p - 1)(1 + \mu)}, \qquad \mu = \frac{1}{2^{bits} - 1}

    The n terms of an estimate are signs, independent over uniform columns and the coins, so that the exponential moments of
    their centred sum are those of a normal law of variance n at most. Not tight. Source: Hoeffding 1963; Boucheron, Lugosi,
    Massart 2013, section 2.5.

    ``m``: its columns are taken for independent and uniform ones. Returns in users. INTERVAL.
    """
    scale = (2 * m.p - 1) * (1 - m.agreement)
    bound = narrow(lambda: (2 * m.users * flint.arb(2 * m.domain).log()).sqrt() / ball(scale), "")
    return Enclosure(0.0, bound.high, Rigour.INTERVAL, "Hoeffding's bound of the exponential moments, and Jensen's inequality")
