r"""Theorems: the steps of what one user costs in TrieHH; and what its paper's Lemma 1 leaves out.

Epsilon is bounded here only where nothing is ever released: at delta = 0 no other is finite. With n users, a batch of
m, q = m/(n+1), and w users beside the new one on a prefix:

- one user less costs log(1/(1-q)) a round; and log(1/(1-qa)) where they can change the release only in the place of a
  part a of the batch;
- a prefix with j votes is (1-q)(w+1)/(w+1-j) times as likely with him, however all others vote. For j = theta that is
  within Lemma 1's w/(w-theta); but it grows with j, and other prefixes may tell how large j is;
- the prefix alone costs most at the w where (theta-1)(1-q) = (c-1+q)(w+2-theta);
- Lemma 2 holds: of W <= n/m holders, and of one more;
- what other prefixes tell is what the votes on the verge tell; how much that is, is admitted;
- with the votes, 1 - (1-q)^L of delta stays at every epsilon;
- with noisy votes, a number that is one larger costs epsilon0 = log(1/alpha), except with probability delta0 = C alpha^k;
  a user who is drawn moves two numbers by one, and who is drawn with probability q costs log(1 + q (e^(2 epsilon0) - 1))
  a round, except with probability q (2 delta0 - delta0^2).
"""

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._steps import Steps

ADD_REMOVE, REPLACE_ONE = "add-remove", "replace-one"


def prove() -> tuple[Theorem | Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    own = _leaving(), _votes(), _worst_holders(), _rare(), _rare_and_one_more(), _others()
    nothing = [_nothing(relation, noisy=noisy) for noisy in (False, True) for relation in (ADD_REMOVE, REPLACE_ONE)]
    return *nothing, *own, _noise(), _drawn()


def _nothing(relation: str, *, noisy: bool) -> Theorem:
    """All votes that there are, all noise, and one more are needed."""
    (drawn, noise), (more,) = positive("drawn", "noise"), nonnegative("more")
    batch, threshold, bound = named("batch"), named("threshold"), named("bound")
    fields, recover = {"batch": drawn, "threshold": drawn + 1 + more}, {drawn: batch, more: threshold - batch - 1}
    if noisy:
        fields |= {"bound": noise, "threshold": drawn + noise + 1 + more}
        recover |= {noise: bound, more: threshold - batch - bound - 1}
    return Theorem(
        mechanism="NoisyTrieHeavyHitter" if noisy else "TrieHeavyHitter",
        sentence="TrieHH with noisy votes and a threshold above its batch and its noise" if noisy
        else "TrieHH with a threshold above its batch",
        relation=relation,
        fields=fields,
        recover=recover,
        parts=[Part(1, [{"nothing is released": (1, 1)}])],
        tight="",
        assumes=("votes",),
    )  # fmt: skip


def _leaving() -> Steps:
    t = Steps("one user less costs log((n+1)/(n+1-m)) a round of TrieHH", relation=ADD_REMOVE)
    t.assume("the user is drawn with probability q = m/(n+1), and the batch is uniform among the others if the user is not")
    (m, out), (p, r, rest) = t.positive("m", "out"), t.nonnegative("p", "r", "rest")
    q = m / (m + out)  # n + 1 = m + out
    t.equal(1 / (1 - q), (m + out) / out, "1/(1-q) = (n+1)/(n+1-m)")
    t.at_most((1 - q) * p, (1 - q) * p + q * r, "P' = (1-q) P + q R, whatever R is, so P <= P'/(1-q)")
    a = 1 / (1 + rest)
    t.at_most((1 - q * a) * p, (1 - q) * p + q * ((1 - a) * p + r), "R >= (1-a) P where only a part a of P can change")
    return t


def _votes() -> Steps:
    t = Steps("j votes of w holders are (1-q)(w+1)/(w+1-j) times as likely with one holder more", relation=ADD_REMOVE)
    t.assume("given its votes, those of all others are uniform, so the ratio is that of the prefix alone")
    t.assume("C(w+1, j)/C(w, j) = (w+1)/(w+1-j), and C(n, m)/C(n+1, m) = 1 - q")
    (theta, m, out), (more, silent) = t.positive("theta", "m", "out"), t.nonnegative("more", "silent")
    stays, w = out / (m + out), theta + more + 1 + silent
    least, j = stays * (w + 1) / (w + 1 - theta), theta + more
    t.at_most(least, w / (w - theta), "with theta votes: Lemma 1's 1 + 1/(w/theta - 1)")
    t.at_most(least, stays * (w + 1) / (w + 1 - j), "more votes tell more, which Lemma 1 leaves out")
    t.at_most(stays * (w + 1) / (w + 1 - j), stays * (w + 1), "up to j = w: the votes of all who hold it")
    return t


def _worst_holders() -> Steps:
    t = Steps("g'(w) - c g(w) is largest where (theta-1)(1-q) first is at most (c-1+q)(w+2-theta)", relation=ADD_REMOVE)
    t.assume("g grows by m/n times the chance of theta - 1 votes of w, m - 1 of n - 1 drawn; g' alike, of w + 1 and n")
    t.assume("C(w+1, k)/C(w, k) = (w+1)/(w+1-k), and C(n-1, m-1)/C(n, m-1) = (n-m+1)/n")
    (n, m, out), (k, over, excess) = t.positive("n", "m", "out"), t.nonnegative("k", "over", "excess")
    q, w = m / (m + out), k + over  # k = theta - 1, n + 1 = m + out, excess = c - 1 + q
    growth = (m / (m + out)) / (m / n) * (w + 1) / (w + 1 - k) * out / n
    t.equal(growth, (1 - q) * (w + 1) / (w + 1 - k), "how much more g' grows than g")
    step = growth - (1 - q + excess)
    t.equal(step * (over + 1), k * (1 - q) - excess * (over + 1), "the sign of the difference's growth")
    return t


def _rare() -> Steps:
    t = Steps("Lemma 2: a prefix of W <= n/m holders is released with at most (1 + 1/theta)/theta!", relation=ADD_REMOVE)
    t.assume("it is at most the sum over j >= theta of C(W, j) C(n-W, m-j)/C(n, m), of which only j <= W, m count")
    x, y, z, i, more = t.nonnegative("x", "y", "z", "i", "more")
    j = 1 + i
    held, m = j + x, j + y
    n = held * m + z  # W = held, W m <= n
    t.at_most(x * y, n - j, "the first term is 1/theta! times factors (W-j)(m-j)/(n-j), for j = 1, 2, ...")
    t.at_most(held * m, n, "and for j = 0, none of them above 1")
    silent = n - held - m + j + 1
    t.at_most(x * y / ((j + 1) * silent), 1 / (j + 1), "each term is at most 1/(j+1) of the one before")
    theta = 4 + more
    t.equal(1 / (1 - 1 / (theta + 1)), 1 + 1 / theta, "a geometric series of 1/(theta+1)")
    t.at_most(1 + 1 / theta, (theta - 2) / (theta - 3), "less than what is printed, with 1/(theta-2)")
    return t


def _rare_and_one_more() -> Steps:
    t = Steps("Lemma 2: and the same with one more holder, among n + 1 users", relation=ADD_REMOVE)
    x, y, z, i, more = t.nonnegative("x", "y", "z", "i", "more")
    j = 2 + i
    n1 = (j + x) * (j + y) - (j + y) + 1 + z  # n + 1 where W + 1 = j + x, m = j + y, W m <= n
    t.at_most(x * y, n1 - j, "the factors (W+1-j)(m-j)/(n+1-j), for j = 2, 3, ..., are at most 1")
    silent = n1 - (j + x) - (j + y) + j + 1
    t.at_most(x * y / ((j + 1) * silent), 1 / (j + 1), "so are the ratios of terms, times j + 1")
    w, m, theta = 2 + x, 2 + y, 4 + more
    n1 = (w - 1) * m + 1 + z
    t.at_most((w - 1) * (m - 1), n1 - 1, "the factor of j = 1 is at most 1")
    t.at_most(w * m * (w - 2) * (m - 2), n1 * (n1 - 2), "those of j = 0 and j = 2 together too")
    t.at_most(1 + 1 / theta, (theta - 2) / (theta - 3), "the series as before")
    return t


def _others() -> Steps:
    t = Steps("what a release without their prefix tells is E[(1 - kappa rho)+], kappa = 1 + (c-1)/q", relation=ADD_REMOVE)
    t.assume("rho: the part of the users not drawn whose vote would change nothing, with m - 1 others drawn")
    t.assume("where their prefix is not released their vote changes nothing")
    (q,), (p, r, more) = t.positive("q"), t.nonnegative("p", "r", "more")
    c = 1 + more
    t.equal((1 - q) * p + q * r - c * p, q * (r - (1 + (c - 1) / q) * p), "P' - c P = q (R - kappa P)")
    leak = "the mean of (1 - kappa rho)+ over all data sets is bounded by Chernoff's method"
    t.admit(leak, "accountants/sampling/other_prefixes.py")
    t.admit("levels compose one after the other, the worst prefix of each maximized over", "accountants/sampling/rounds.py")
    return t


def _noise() -> Steps:
    t = Steps("a noisy number that is one larger costs log(1/alpha), but with probability C alpha^k", relation=ADD_REMOVE)
    t.assume("P[i] = C alpha^|i| from -k to k, with C = (1-alpha)/(1+alpha-2 alpha^(k+1)); far is alpha^k")
    t.assume("sums of powers are geometric: alpha + ... + alpha^k = (alpha - alpha^(k+1))/(1-alpha)")
    excess, beyond = t.positive("excess", "beyond")
    alpha = 1 / (1 + excess)
    far = alpha / (1 + beyond)  # alpha^k, at most alpha
    most = (1 - alpha) / (1 + alpha - 2 * alpha * far)
    rising = (alpha - alpha * far) / (1 - alpha)  # of 1, ..., k
    t.equal(most * (1 + 2 * rising), 1, "the probabilities sum to 1")
    up, never = most * (1 + rising - far), most * far  # -k+1, ..., 0 are 1/alpha times as likely as one less; -k alone has no less
    t.equal(up + alpha * up + never, 1, "all other noises are alpha times as likely as one less: alpha times those")
    t.equal(up, (1 - never) / (1 + alpha), "the dominating pair of every (log(1/alpha), C alpha^k) guarantee")
    return t


def _drawn() -> Steps:
    t = Steps("being drawn with probability q turns c into 1 + q (c - 1), and delta into q delta", relation=ADD_REMOVE)
    t.assume("P' = (1-q) P + q R', where P is the law without the user, and R' that of batches with the user")
    (m, out), (p, r, more) = t.positive("m", "out"), t.nonnegative("p", "r", "more")
    q, c = m / (m + out), 1 + more
    t.equal((1 - q) * p + q * r - (1 + q * (c - 1)) * p, q * (r - c * p), "P' - (1 + q (c-1)) P = q (R' - c P)")
    t.at_most(p, ((1 - q) * p + q * r) / (1 - q), "one user less: P <= P'/(1-q), whatever R' is")
    t.admit("divergences are jointly convex, and one user replaced costs q D_c too", "Balle, Barthe, Gaboardi 2018, Theorem 2")
    t.admit("rounds compose as their dominating pairs do", "Zhu, Dong, Wang 2022, Theorem 10")
    return t
