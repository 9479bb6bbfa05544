"""Theorems on Hadamard response in the shuffled model: what tells two inputs apart and what it costs.

1. The multiset of M random messages and one of an element has density N/((M+1) p) with respect to M + 1 random ones, N the
   number of messages that speak for the element; so two elements are told apart by N against N', two independent counts.
2. Where the others' messages are not known, a pair of data sets is told apart as if they were, but for a share p.
3. Messages of k elements replaced one by one.
4. Messages of k elements replaced all together.
5. Lemma 4.4 of Ghazi, Golowich, Kumar, Pagh, Velingker 2019 with its constant 36, for tau = log2 n and epsilon <= 1.

The estimates are unbiased: a holder's message always counts, any other with probability p. All kernels together have
k n (1 - p) + B (rho + k) n p elements on average: each message is in its own element's, and with probability p in any other's.

No epsilon is enough at delta = 0, so none of these is a bound there: the accountant says which (epsilon, delta) hold.
"""

from sympy import Integer, Rational

from ldpaudit.proofs._steps import Steps

CHERNOFF = "Chernoff's bounds exp(-eta^2 mu/3) above and exp(-eta^2 mu/2) below, 0 < eta <= 1; Mitzenmacher, Upfal 2005, 4.4-4.5"
EXPONENTIAL = "e^t >= 1 + t + t^2/2 for t >= 0, e^(-1/3) <= 0.7166, 1/e lies between 0.3678 and 0.3679; power series"

SIGNS = "the characters of GF(2)^tau are orthogonal; Crapo, Rota 1970, On the foundations of combinatorial theory II, chapter 16"
HOEFFDING = "a convex function of a sum has a smaller mean where its terms are drawn without replacement; Hoeffding 1963, Theorem 4"
KRAWTCHOUK = "Krawtchouk polynomials are orthogonal with respect to the binomial law; Szego 1975, section 2.82"


def prove() -> tuple[Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _ratio(), _unknown_others(), _chain(), _together(), _constant()


def _ratio() -> Steps:
    t = Steps("one message of an element among M random ones is told by how many messages speak for the element")
    t.assume("both rows are orthogonal to the row of ones, so that half of their entries are 1, and to each other")
    t.assume("the shuffled multiset is a function of the blanket with user 1's message, and of messages of the same law")
    (B,), (M, x, copies, longer, shared) = t.positive("B"), t.nonnegative("M", "x", "copies", "longer", "shared")
    only = B - shared  # each codeword has B of the 2 B indices
    neither = 2 * B - shared - 2 * only
    t.equal(shared + neither - 2 * only, 4 * (shared - B / 2), "orthogonal rows: this is 0, so B/2 indices are shared")
    t.equal(B / 2 / (2 * B), (B / (2 * B)) ** 2, "an index is in the one codeword independently of the other; so is a tuple")
    p = 1 / (2 + longer)  # 2**-tau
    chance = copies / (M + 1)  # multinomials of M and of M + 1 messages
    t.equal(chance * (1 / p), copies / ((M + 1) * p), "density: each copy of a tuple in the power is the user's with one chance")
    t.equal((x + 1) / ((M + 1) * p) * ((M + 1) / (x + 1) * p), 1, "1 + Bin(M, p) has density N/((M+1) p) to Bin(M+1, p)")
    return t


def _unknown_others() -> Steps:
    t = Steps("what the others hide is which of the messages that speak for both elements are theirs")
    t.assume("rows 1, 2 and 3 sum to 0: a message in the kernel of two is in the third's")
    longer, M, A, R = t.nonnegative("longer", "M", "A", "R")
    p = 1 / (2 + longer)
    pure, every = p * (1 - p), p * p
    none = 1 - 3 * pure - every
    t.equal(none, (1 - p) * (1 - 2 * p), "what is left for messages of no kernel")
    t.at_most(0, none, "which is a probability")
    t.equal(pure + every, p, "each row is in the kernel with probability p")
    rest = 1 - 2 * pure
    kappa = every / rest
    own = (1 - p) * A / ((M + 1) * pure) + p * R / ((M + 1) * rest)
    t.equal(own, (A + kappa * R) / ((M + 1) * p), "density of A and B: user 1's message is in A, or in neither")
    second = t.nonnegative("second")[0]
    own = (1 - p) * A / ((M + 1) * pure) + p * second / ((M + 1) * p)
    t.equal(own, (A + p * second) / ((M + 1) * p), "density of A and N' where the others hold the second element, too")
    known, spare = t.nonnegative("known", "spare")
    third = known + spare + 1
    t.equal((third - known) / third, (spare + 1) / third, "a message for all three is not one of the known with this chance")
    t.at_most((third - known) / third, 1, "which is less than if the others' messages were known")
    return t


def _chain() -> Steps:
    t = Steps("k messages replaced one by one cost (e^eps - 1)/(e^(eps/k) - 1) times the delta of one")
    (excess,), (more,) = t.positive("excess"), t.nonnegative("more")
    r, power = 1 + excess, 1 + more  # e**(eps/k) and its i-th power
    total = (power - 1) / (r - 1)
    t.equal(total + power, (power * r - 1) / (r - 1), "one more: its delta is multiplied by the factors before it")
    t.equal(total.subs(more, excess), 1, "one message: once")
    return t


def _together() -> Steps:
    t = Steps("k messages replaced together cost little more than k shuffles of one message each (`counting.one_shuffle`)")
    t.assume("the rows are different: a random message speaks for each with probability p, and for any two with p^2")
    t.assume("the density of the multiset counts the ways to choose one message for each row, all different")
    t.admit("a random matrix maps every vector but 0 to all vectors alike, so that sums of its signs count solutions", SIGNS)
    t.admit("numbers drawn without replacement have smaller exponential moments than with it", HOEFFDING)
    t.admit("the norm of a mean of products, given the counts, is that of orthogonal polynomials", KRAWTCHOUK)
    (m, p, pairs), (i, more, N, x, y, z) = t.positive("m", "p", "pairs"), t.nonnegative("i", "more", "N", "x", "y", "z")
    t.at_most(m, m + i, "each of the factors m, ..., m - k + 1 of the number of choices is at most m: there alpha comes from")
    t.equal(p**2 - 3 * p * p**2 + 3 * p**2 * p - p**3, p**2 * (1 - p), "c of three rows that sum to 0; independent ones have 0")
    q = 1 / (2 + more)
    v = q * (1 - q)
    for w in (1 / q, -1 / (1 - q)):
        t.equal(w**2, (1 - 2 * q) / v * w + 1 / v, "w**2 of either kind of message")
    t.equal(q * (1 / q) ** 2 + (1 - q) * (1 / (1 - q)) ** 2, 1 / v, "its mean")
    t.equal(q * (1 / q) + (1 - q) * (1 / (1 - q)), 2, "and that of |w|")
    first = (N - (m + 1) * q) / ((m + 1) * v)
    squares = N / q**2 + (m + 1 - N) / (1 - q) ** 2
    t.equal(((m + 1) * first) ** 2 - squares, (m + 1) * (((m + 1) * first - (1 - 2 * q) / v) * first - 1 / v),
            "of m + 1 messages the products of two different w, m (m + 1) of them: the recurrence at a = 1")  # fmt: skip
    spread = (x + y + z) * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 2
    t.equal(x**3 + y**3 + z**3 - 3 * x * y * z, spread, "a product of three is at most the mean of their third powers")
    t.equal(2 * pairs + 2 * pairs + pairs, 5 * pairs,
            "of K (K - 1)/2 pairs: more than one row under either law, one alone, and none, differ by no more in all")  # fmt: skip
    return t


def _constant() -> Steps:
    t = Steps("Lemma 4.4: rho = 36 k^2 ln(e k/(eps delta))/eps^2 is enough for tau = log2 n and eps <= 1")
    t.admit("P[Bin(n rho, 1/n) >= (1 + eta) rho] and P[<= (1 - eta) rho] are small", CHERNOFF)
    t.admit("the exponential function is bounded by rational numbers", EXPONENTIAL)
    t.assume("more blanket messages never cost more: they can be added afterwards")
    t.assume("L = ln(e k/(eps delta)) >= 1, because eps, delta <= 1 <= k; and eta = eps/(3 k) <= 1/3")
    slack, more = t.nonnegative("slack", "more")
    eta, L = 1 / (3 + slack), 1 + more
    rho = 4 * L / eta**2  # 36 k^2 L / eps^2
    t.equal(rho * eta**2 / 3, L * Rational(4, 3), "the exponent above")
    t.equal(rho * eta**2 / 2, 2 * L, "the exponent below")
    step = 3 * eta
    t.at_most(
        ((1 + eta) * rho + 1) / ((1 - eta) * rho), 1 + step + step**2 / 2,
        "N/N' is at most e^(eps/k), unless one of the two counts is that far off: at most 1 + (1 + eta) rho, and (1 - eta) rho",
    )  # fmt: skip
    upper, lower, inverse = Rational(7166, 10000), Rational(3679, 10000), Rational(3678, 10000)
    t.at_most(L, L * Rational(4, 3) - Rational(1, 3), "e^(-4L/3) <= e^(-L) e^(-1/3)")
    t.at_most(L, 2 * L - 1, "e^(-2L) <= e^(-L) e^(-1)")
    t.at_most((upper + lower) * (1 - inverse), Integer(1),
              "with e^(-L) = eps delta/(e k) and (e^eps - 1)/(e^(eps/k) - 1) <= k (e - 1)/eps: at most delta in all")  # fmt: skip
    return t
