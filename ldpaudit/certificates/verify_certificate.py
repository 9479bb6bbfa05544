#!/usr/bin/env python3
"""Check the proofs of privacy certificates, with Python's standard library alone and whole numbers in every decision.

    python -I -S verify_certificate.py FILE.json ...

FILE is a proof (schema ``ldpaudit.proof/1``) or a certificate, which carries one for each claim that it calls PROVED. It says that
a plan is (epsilon, delta)-differentially private, or that it is not; VALID where the sums below, each rounded against what it says,
reach that. `cases` says what the words of a plan mean; docs/proof-format.md explains each word, and each theorem. Two facts carry
all shortcuts. Spread: the mean of a convex function does not fall where a value is split into two of the same mean. Mass: that of
a nonnegative function does not fall where mass is added.
"""

import decimal
import json
import math
import sys
from fractions import Fraction

THEOREMS = {
    "post-processing": "what is made of a view without looking at the input costs no more than the view (Csiszar 1967)",
    "half-lines": "noise whose logarithm is concave tells two counts apart best by a half-line, and nearer ones less (elementary)",
    "domination": "a convex curve above those of all neighbours is that of one pair of laws (elementary)",
    "composition": "what dominates each part dominates their adaptive composition (Zhu, Dong, Wang 2022, Theorem 10)",
    "blanket": "shuffled reports cost at most what the privacy blanket hides (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3)",
    "Laplace integral": "between two places the masses of Laplace noise are differences of exponentials (calculus)",
}
HIDDEN = ("channel", "randomized_response", "subset_selection", "hadamard_response", "bits")  # whose reports have a blanket
VERSION, WORK, WITNESS = 1, 2 * 10**8, {"digits", "ratio", "step", "starts"}  # work: digits in products, about a minute at most
POINTS, UNIT, MOST_BYTES = 256, 1 << 160, 1 << 24  # of a dominating curve; of bounds of e to the power of epsilon; of a file
spent, most = 0, WORK

class Invalid(Exception):  # noqa: N818 - it is the word that is printed
    """The file does not show what it says."""

def need(truth, why):
    if not truth:
        raise Invalid(why)

def spend(work, digits=0):
    global spent
    spent += work * (1 + digits // 2000)
    need(spent <= most, "it takes too much work")

def number(text):
    """A rational: digits, with or without a sign, and one slash or one point between them."""
    ends = str(text).removeprefix("-").replace(".", "/", 1).split("/") if type(text) in (str, int) else []
    fits = 1 <= len(ends) <= 2 and all(end.isascii() and end.isdigit() and len(end) <= 4000 for end in ends)
    need(fits, f"not an exact number: {text!r:.40}")
    return Fraction(text)

def probability(text):
    need(0 <= number(text) <= 1, f"not a probability: {text!r:.40}")
    return number(text)

def whole(value, least=1, most=10**18):
    need(type(value) is int and least <= value <= most, f"not a whole number from {least} to {most}: {value!r:.40}")
    return value

def only(record, *keys):
    """Their values, where these are the keys."""
    need(type(record) is dict and set(record) == set(keys), f"it needs the keys {', '.join(keys)}, and has {record!r:.80}")
    return [record[key] for key in keys]

def exponential(x):
    """Multiples of 1/UNIT at or below e**x and at or above it, x >= 0: the series of a small x, squared back."""
    need(0 <= x <= 20_000, "an exponent beyond 20000")
    halvings = math.ceil(x).bit_length() + 8
    low = high = term_low = term_high = one = UNIT << (2 * halvings)
    top, bottom = x.numerator, x.denominator << halvings
    for k in range(1, 64):
        term_low, term_high = term_low * top // (bottom * k), -(-term_high * top // (bottom * k))
        low, high = low + term_low, high + term_high
    high += 2 * term_high if top else 0  # what follows the last term is less than it
    for _ in range(halvings):
        low, high = low * low // one, -(-high * high // one)
    return Fraction(low * UNIT // one, UNIT), Fraction(-(-high * UNIT // one), UNIT)

def cases(plan, relation):
    """For each kind of ordered pair of neighbours, its cells: (how many views, probability, probability for the neighbour)."""
    word = plan.get("word") if type(plan) is dict else None
    if word == "channel":  # rows of probabilities; of add-remove the first is that of an absent user
        _, rows = only(plan, "word", "rows")
        need(type(rows) is list and len(rows) > 1 and all(type(r) is list and len(r) == len(rows[0]) for r in rows), "a matrix")
        rows, sizes = [[probability(entry) for entry in row] for row in rows], range(len(rows))
        pairs = [(a, b) for a in sizes for b in sizes if a != b and (relation == "replace-one" or 0 in (a, b))]
        spend(len(pairs) * (40 * len(rows[0]) + len(str(rows[0]))))
        found = [[(1, p, q) for p, q in zip(rows[a], rows[b])] for a, b in pairs]
    elif word in ("randomized_response", "subset_selection", "hadamard_response"):
        need(relation == "replace-one", f"neighbours that replace a value, of {word}")
        if word != "hadamard_response":  # sets of d of k values, of a response of 1: p for all with the truth
            _, k, p, *sizes = only(plan, "word", "k", "p", *["d"] * (word == "subset_selection"))
            need((d := whole([*sizes, 1][0], 1, 4000)) < whole(k, 2, 4000 if sizes else 10**18), "d lies below k")
            ways = math.comb(k - 1, d - 1), math.comb(k - 1, d), math.comb(k - 2, d - 1)
        else:  # columns of a matrix: p for the half where the truth's row has +1; two rows differ in half of the columns
            _, columns, p = only(plan, "word", "columns", "p")
            need(whole(columns, 4) & (columns - 1) == 0, "a power of 2 columns")
            ways = columns // 2, columns // 2, columns // 4
        inside, outside, apart = ways  # views of a value, all others, and how many of the former another value does not have
        high, low = probability(p) / inside, (1 - probability(p)) / outside
        found = [[(apart, high, low), (apart, low, high), (inside - apart, high, high), (outside - apart, low, low)]]
    elif word == "bits":  # independent bits: 1 with probability p where set, else q; `here` or `there` set by one value only
        _, p, q, here, there = only(plan, "word", "p", "q", "only_here", "only_there")
        p, q, here, there = probability(p), probability(q), whole(here, 0, 500), whole(there, 0, 500)
        need(here + there > 0, "a bit that differs")
        spend(10 * (here + 1) * (there + 1) * (size := (here + there) * len(f"{p}{q}")), size)
        one, other = ([(math.comb(m, i), i, m - i) for i in range(m + 1)] for m in (here, there))
        cells = [(a * b, p**i * (1 - p) ** j * q**u * (1 - q) ** v, q**i * (1 - q) ** j * p**u * (1 - p) ** v)
                 for a, i, j in one for b, u, v in other]  # fmt: skip
        found = [cells] if here == there else [cells, [(v, q, p) for v, p, q in cells]]
    elif word == "discrete_laplace":  # (1-alpha)/(1+alpha) alpha**|noise|, added to a count that differs by `change`
        _, alpha, change = only(plan, "word", "alpha", "change")
        need(0 < (alpha := number(alpha)) < 1, "alpha lies between 0 and 1")
        spend(10 * whole(change, 1, 1000) ** 2 * len(str(alpha)), change * len(str(alpha)))
        ends = [(1, 1 / (1 + alpha), alpha**change / (1 + alpha)), (1, alpha**change / (1 + alpha), 1 / (1 + alpha))]
        found = [ends + [(1 - alpha, alpha**y / (1 + alpha), alpha ** (change - y) / (1 + alpha)) for y in range(1, change)]]
    elif word == "binomial":  # heads of `coins` coins, added to a count that differs by `change`
        _, coins, gamma, change = only(plan, "word", "coins", "gamma", "change")
        gamma, none = probability(gamma), [Fraction(0)] * whole(change, 1, 10**5)
        spend(whole(coins, 1, 4000) ** 2 * len(str(gamma)) + 100 * change, coins * len(str(gamma)))
        law = [*none, *(math.comb(coins, i) * gamma**i * (1 - gamma) ** (coins - i) for i in range(coins + 1)), *none]
        found = [[(1, p, q) for p, q in zip(law, law[change:])], [(1, q, p) for p, q in zip(law, law[change:])]]
    else:
        raise Invalid(f"no law is known of {word!r:.40}")
    for cells in found:
        need(sum(v * p for v, p, _ in cells) == 1 == sum(v * q for v, _, q in cells), "probabilities do not sum to 1")
    return found

def largest_ratio(laws):
    return max(p / q for cells in laws for views, p, q in cells if views and q)

def hockey_stick(cells, e):
    """The sum of (P - e Q)+, exact."""
    spend(len(cells) * (40 + (size := cells[0][1].denominator.bit_length() + e.denominator.bit_length())), size // 3)
    return sum(views * max(Fraction(0), p - e * q) for views, p, q in cells)

def parts(plan, rests, witness, times=1):
    """What is composed, and how often: every count with noise is a part of its own."""
    word = plan.get("word") if type(plan) is dict else None
    if word == "repeat":
        return parts(only(plan, "word", "of", "times")[1], rests, witness, times * whole(plan["times"]))
    if word == "compose":
        need(type(several := only(plan, "word", "of")[1]) is list and several, "a list of parts")
        return [part for each in several for part in parts(each, rests, witness, times)]
    if word in ("shuffle", "sum"):
        inner, users, added = crowd(plan)
        if "step" in witness and "starts" not in witness:  # what is computed from the reports is computed from their multiset
            rests |= {"blanket"} if word == "shuffle" else {"blanket", "post-processing"}
            return [(plan, times)]
        rests.add("post-processing")
        if "starts" in witness and type(inner) is dict:  # a count for each bit that differs, each drawn alone
            bits = word == "sum" and inner.get("word") == "bits"  # else two counts that tell the same, but where each has noise
            need(bits or (inner.get("word") == "randomized_response" and inner["k"] == 2 and not added), "a count of bits or two")
            differ = whole(inner["only_here"], 0) + whole(inner["only_there"], 0) if bits else 1
            p, q = number(inner["p"]), number(inner["q"]) if bits else 1 - number(inner["p"])
            return [({"word": "count", "p": p, "q": q, "users": users, "added": added}, times * differ)]
        return parts(inner, rests, witness, times)  # the reports of all other users are given away
    return [(plan, times)]

def crowd(plan):
    """What is shuffled or summed, of how many users, and the variances of discrete Gaussian noise that is added to each count."""
    added = [] if "discrete_gaussian" not in plan or plan["word"] != "sum" else ["discrete_gaussian"]
    _, inner, users, *several = only(plan, "word", "of", "users", *added)
    need(all(type(each) is list for each in several), "a list of variances")
    return inner, whole(users), [number(variance) for variances in several for variance in variances]

def pure(plan, relation, rests):
    """(top, bottom, nats, times): the plan's exact epsilon at delta = 0 is times * (log(top / bottom) + nats); bottom may be 0."""
    found = parts(plan, rests, {})
    if len(found) > 1 or found[0][1] > 1:
        rests.add("composition")
    common, top, bottom, nats = math.gcd(*(times for _, times in found)), 1, 1, Fraction(0)
    for part, times in found:
        word, times = part.get("word") if type(part) is dict else None, times // common
        if word == "laplace":  # noise on a number, which differs by `change` scales
            need(0 < (change := number(only(part, "word", "change")[1])) <= 10**6, "a change above 0")
            nats += change * times
            continue
        if word == "discrete_laplace":  # `change` steps of 1
            part, times = {**part, "change": 1}, times * whole(part.get("change"))
        if is_noise := word in ("binomial", "discrete_gaussian"):
            _, *size, change = only(part, "word", *(["coins", "gamma"] if word == "binomial" else ["variance"]), "change")
            need(number(size[0]) > 0 and all(map(probability, size[1:])) and whole(change, 1, 10**5), "noise, and a change")
        laws = [] if is_noise else cases(part, relation)
        if not laws or any(views and p and not q for cells in laws for views, p, q in cells):
            bottom = 0
            continue
        one = largest_ratio(laws)
        spend(times * (one.numerator.bit_length() + one.denominator.bit_length()) * 20)
        top, bottom = top * one.numerator**times, bottom * one.denominator**times
    return top, bottom, nats, common

def delta_at(plan, relation, epsilon, e, witness, rests):
    """Upper bound of delta at epsilon, of which e is e's power from below."""
    top, bottom, nats, times = pure(plan, relation, here := set())
    if epsilon >= nats * times and exponential(epsilon / times - nats)[0] * bottom >= top:
        rests |= here
        return Fraction(0)
    found = parts(plan, rests, witness)
    if len(found) > 1 or found[0][1] > 1:
        rests |= {"composition", "domination"}
        return composed(found, relation, e, witness, rests)
    return curve(found[0][0], relation, witness, rests)[0](e)

def curve(part, relation, witness, rests):
    """Upper bound of delta as a function of e to the power of epsilon, at least 1; and where it bends, if that is known."""
    word = part["word"]
    if word in ("shuffle", "sum"):
        return lambda c: shuffled(part, relation, c, witness), None
    if word == "laplace":  # of the half-line that ends where the loss is epsilon: 1 - e**((epsilon - change) / 2)
        rests |= {"half-lines", "Laplace integral"}
        power = exponential(number(part["change"]))[1]
        return lambda c: max(0, 1 - Fraction(math.isqrt(math.floor(c * UNIT**2 / power)), UNIT)), None
    rests |= {"half-lines"} if word in ("discrete_laplace", "binomial", "discrete_gaussian") else set()
    if word in ("count", "discrete_gaussian") or (word == "binomial" and "digits" in witness):
        hidden, p, q, change = counted(part, witness)
        return lambda c: max(told(a, b, change, each, c) for each in hidden for a, b in ((p, q), (q, p))), None
    laws = cases(part, relation)
    return lambda c: max(hockey_stick(cells, c) for cells in laws), {p / q for cells in laws for v, p, q in cells if v and p and q}

EXACT = decimal.Context(decimal.MAX_PREC, None, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[decimal.Inexact, decimal.Overflow])

class Masses:
    """Of a sum of independent parts: masses[i] at place first + i of a lattice, in multiples of 10**-digits; `beyond` above."""

    def __init__(self, masses, first, beyond, digits):
        low, high, cut = 0, len(masses), 0  # the little mass at both ends counts as if it were beyond
        while low < high - 1 and cut + masses[low] < 10**7:
            cut, low = cut + masses[low], low + 1
        while high > low + 1 and cut + masses[high - 1] < 2 * 10**7:
            cut, high = cut + masses[high - 1], high - 1
        self.masses, self.first, self.beyond, self.digits = masses[low:high], first + low, beyond + cut, digits

    def __add__(self, other):
        """Of the sum of two independent values: all coefficients of a product of polynomials in one product of decimals."""
        unit, slot, size = 10**self.digits, 2 * self.digits + 12, len(self.masses) + len(other.masses) - 1
        need(size * slot <= 10**8, "a product of more than 10**8 digits")
        spend(size * slot // 3)
        totals = [sum(m.masses) + m.beyond for m in (self, other)]
        need(max(totals) < 100 * unit and size < 10**8, "masses too large")  # so that no coefficient fills its slot
        one, two = (decimal.Decimal("".join(str(mass).zfill(slot) for mass in reversed(m.masses))) for m in (self, other))
        text = str(EXACT.multiply(one, two)).zfill(slot * size)
        need("E" not in text and len(text) == slot * size, "a product that does not fit")
        masses = [-(-int(text[end - slot : end]) // unit) for end in range(slot * size, 0, -slot)]
        beyond = -(-(self.beyond * totals[1] + other.beyond * sum(self.masses)) // unit)
        return Masses(masses, self.first + other.first, beyond, self.digits)

    def __mul__(self, times):
        if times < 2:
            return self if times else Masses([10**self.digits], 0, 0, self.digits)
        half = self * (times // 2)
        return half + half + self if times % 2 else half + half

def on_lattice(points, beyond, digits):
    """Of [(place, mass)], and of a mass above all places."""
    first, last = min(place for place, _ in points), max(place for place, _ in points)
    need((last - first) * digits < 1 << 26, "too many places")
    spend((last - first) * 10)
    masses, unit = [0] * (last - first + 1), 10**digits
    for place, mass in points:
        masses[place - first] += math.ceil(mass * unit)
    return Masses(masses, first, math.ceil(beyond * unit), digits)

def dominating(cost, bends, ratio, digits, one):
    """The losses of one pair of laws that costs at least what all neighbours do, at every threshold from 0 on, on powers of ratio.

    Its curve is the largest convex one through 1 at threshold 0, and at or below the costs at powers of ratio: that of all
    neighbours is a convex one. Exchanged neighbours are neighbours: so 1 - c + c cost(1/c) at c < 1."""
    log, up, down, j, places, above, below = math.log1p(float(ratio - 1)), one, one, 0, range(1 << 20), [], []
    if bends is not None:  # between these the curve is straight
        near = {round((math.log(z.numerator) - math.log(z.denominator)) / log) for z in bends}
        places = sorted({0} | {i for j in near for i in (j - 1, j, j + 1) if i > 0})
        places = places[:: 1 + len(places) // POINTS]
    for place in places:
        spend(1000 + (place - j) * 10)
        while j < place:  # powers of ratio, from below
            up, down, j = up * ratio.numerator // ratio.denominator, down * ratio.denominator // ratio.numerator, j + 1
        height = cost(c := Fraction(up, one))
        if not down or (bends is None and above and (height >= above[-1][1] or above[-1][1] * 10 ** (digits // 2) < 1)):
            break
        above.append((c, height, place))
        below.append((c := Fraction(down, one), 1 - c + c * height, -place))
    hull = [(Fraction(0), Fraction(1), 0, -2)]  # threshold, cost, place, and the slope before it
    for c, height, place in [*below[:0:-1], *above]:
        while (slope := (height - hull[-1][1]) / (c - hull[-1][0])) <= hull[-1][3]:
            hull.pop()
        hull.append((c, height, place, slope))
    after = [slope for *_, slope in hull[2:]] + [0]
    return on_lattice([(place, c * (s - r)) for (c, _, place, r), s in zip(hull[1:], after)], hull[-1][1], digits)

def composed(found, relation, e, witness, rests):
    """The mean of (1 - e z)+ under P, where z is the product of the parts' Q/P."""
    digits, ratio, mean = whole(witness.get("digits"), 12, 400), number(witness.get("ratio")), 0
    need(1 < ratio < 1000, "a ratio above 1, and below 1000")
    one = z = 1 << (64 + 2 * math.ceil(e).bit_length() + 4 * digits)
    total = Masses([10**digits], 0, 0, digits)
    for part, times in found:
        total += dominating(*curve(part, relation, witness, rests), ratio, digits, one) * times
    for j in range(total.first + len(total.masses)):  # below place 0 is z >= 1, and e >= 1 with it
        mean += (j >= total.first and total.masses[j - total.first]) * max(0, one - e.numerator * z // e.denominator)
        z = z * ratio.denominator // ratio.numerator
    return (Fraction(mean, one) + total.beyond) / 10**digits

def counted(part, witness):
    """(what is hidden, p, q, change): to each of these a bit adds `change` with probability p, a neighbour's with q."""
    coins, digits = lambda n, p: on_lattice([(0, 1 - p), (1, p)], Fraction(0), digits) * n, whole(witness.get("digits"), 12, 400)
    if part["word"] == "binomial":
        several, gamma = only(part, "word", "coins", "gamma", "change")[1:3]
        return [coins(whole(several, 1, 10**10), probability(gamma))], 0, 1, whole(part["change"], 1, 10**5)
    if part["word"] == "discrete_gaussian":
        return [gaussian(number(only(part, "word", "variance", "change")[1]), digits)], 0, 1, whole(part["change"], 1, 10**5)
    p, q, users, starts = part["p"], part["q"], whole(part["users"], 1, 10**10), witness["starts"]
    need(type(starts) is list and starts[:1] == [0], "starts of ranges from 0 on")
    gaps = [whole(whole(b, 1, users) - whole(a, 0)) for a, b in zip(starts, [*starts[1:], users])]
    ones, zeros = [coins(0, p)], [coins(0, q)]
    for variance in part["added"]:
        zeros[0] += gaussian(variance, digits)
    for gap, last in zip(gaps, reversed(gaps)):
        ones, zeros = [*ones, ones[-1] + coins(gap, p)], [coins(last, q) + zeros[0], *zeros]
    return [one + zero for one, zero in zip(ones, zeros[1:])], p, q, 1  # who holds what within a range is given away

def gaussian(variance, digits):
    """Of noise z in proportion to e**(-z**2 / (2 variance)): each mass from above, by the sum of all from below."""
    need(Fraction(1, 1000) <= variance <= 10**10, "a variance from 1/1000 to 10**10")
    one, side = 10 ** (digits + 20), []
    while not side or side[-1][1] > 10**20:
        spend(500)
        low, high = exponential(Fraction(len(side) ** 2) / (2 * variance))
        side.append((math.floor(one / high), math.ceil(one / low)))
    total, last = 2 * sum(low for low, _ in side) - one, Fraction(side[-1][1], side[-2][0])  # ratios fall outward
    points = [(z, Fraction(side[abs(z)][1], total)) for z in range(1 - len(side), len(side))]
    return on_lattice(points, Fraction(2 * side[-1][1], total) / (1 - last), digits)

def told(p, q, change, hidden, c):
    """What a number tells: the sum of (P - c Q)+, from above. What was added to masses, c times, and what was cut count."""
    unit, masses = 10**hidden.digits, [0] * change + hidden.masses + [0] * change
    spend(len(masses) * (2 + hidden.digits // 16))
    near, far = math.ceil((1 - p - c * (1 - q)) * unit), math.ceil((p - c * q) * unit)
    total = sum(max(0, near * y + far * x) for x, y in zip(masses, masses[change:]))
    return (Fraction(total, unit) + hidden.beyond + c * (sum(hidden.masses) + hidden.beyond - unit)) / unit

def shuffled(plan, relation, e, witness):
    """(1/n) times the mean of (sum of n w)+, where w = (P - e Q)/b with the chance b that is common to all laws, else 0."""
    inner, users, _ = crowd(plan)
    digits, step, users, worst = whole(witness.get("digits"), 12, 400), number(witness["step"]), whole(users, 2, 10**10), 0
    need(step > 0 and relation == "replace-one", "a step above 0, and neighbours that replace a report")
    laws, word = cases(inner, relation), inner["word"]
    if word == "channel":
        common = [min(map(number, column)) for column in zip(*inner["rows"])]
        laws = [[(*cell, b) for cell, b in zip(cells, common)] for cells in laws]
    elif word == "bits":  # those of an absent user, times (1-p)/(1-q), are a part of all
        p, q, mass = number(inner["p"]), number(inner["q"]), (1 - number(inner["p"])) / (1 - number(inner["q"]))
        need(inner["only_here"] == inner["only_there"] == 1 and q <= p < 1, "of shuffled bits one set by each value, with p >= q")
        laws = [[(*cell, mass * q**ones * (1 - q) ** (2 - ones)) for cell, ones in zip(laws[0], (0, 1, 1, 2))]]
    else:
        need(word in HIDDEN, f"no blanket is known of {word!r:.40}")
        laws = [[(*cell, min(min(p, q) for views, p, q in laws[0] if views)) for cell in laws[0]]]
    for cells in laws:
        points, held, most = [], Fraction(0), Fraction(0)
        for views, p, q, b in cells:
            need(b > 0 or not views or p == q == 0, "a view that some input never shows")
            if views and b > 0:
                w = (p - e * q) / b
                j = math.floor(w / step)
                points += [(j, views * b * (1 - (w / step - j))), (j + 1, views * b * (w / step - j))]
                held, most = held + views * b, max(most, (j + 1) * step)
        total = on_lattice([*points, (0, 1 - held)], Fraction(0), digits) * users
        mean = sum(mass * place for place, mass in enumerate(total.masses, total.first) if place > 0)
        worst = max(worst, (mean * step / users + total.beyond * most) / 10**digits)
    return worst

def refuted(plan, relation, epsilon, e, lost):
    """Whether delta at epsilon, of which e is e's power from above, is more than that."""
    top, bottom, nats, times = pure(plan, relation, seen := set())
    need("post-processing" not in seen, "no lower bound is known of this plan")
    if plan["word"] in ("repeat", "compose"):  # runs on other inputs each, so that all may lose the most at once
        beyond, alone = epsilon / times - nats, lost == 0 and relation == "replace-one"
        return alone and (beyond < 0 or exponential(beyond)[1] * bottom < top)
    if plan["word"] == "laplace":
        return epsilon < nats and 1 - 1 / exponential((nats - epsilon) / 2)[0] > lost
    return max(hockey_stick(cells, e) for cells in cases(plan, relation)) > lost

def check(proof, work=WORK):
    """What was checked, in a sentence, and the theorems that it rests on. Raises Invalid."""
    global spent, most
    spent, most, rests, keys = 0, work, set(), ("schema", "plan", "relation", "says", "epsilon", "delta", "witness")
    schema, plan, relation, says, epsilon, delta, witness = only(proof, *keys)
    need(schema == f"ldpaudit.proof/{VERSION}", f"a file of the schema ldpaudit.proof/{VERSION}")
    need(type(plan) is type(witness) is dict and type(relation) is str and witness.keys() <= WITNESS, "a plan and a witness")
    nats, lost, kind = number(epsilon), number(delta), relation
    if relation.startswith("group-of-"):  # users who draw their coins alone: as many runs, each on an input of its own
        alone = plan["word"] not in ("shuffle", "sum") and not witness.keys() & {"step", "starts"}
        need(alone and relation[9:].isdecimal(), "of a group of users one report each")
        need(not lost or all(part.get("word") in HIDDEN for part, _ in parts(plan, set(), {})), "of noise for a group a delta of 0")
        plan, kind = {"word": "repeat", "of": plan, "times": int(number(relation[9:]))}, "replace-one"
    need(kind in ("replace-one", "add-remove") and 0 <= nats <= 20_000 and 0 <= lost < 1, "neighbours, epsilon and delta in range")
    if says == "not private":
        only(witness)
        need(refuted(plan, kind, nats, exponential(nats)[1], lost), "no more than that is lost")
    else:
        need(says == "private", "it says private, or not private")
        found = delta_at(plan, kind, nats, exponential(nats)[0], witness, rests)
        need(found <= lost, f"delta may be {float(found):.9g}, which is above {float(lost):.9g}")
    texts = json.dumps(proof["plan"]).replace('"', "").split()  # of which the long ones are numbers
    shown = " ".join(text if len(text) < 24 else f"about {float(Fraction(text.strip('[],}'))):.9g}," for text in texts)
    of = f"({float(nats):.12g}, {delta})-differentially private for {relation} neighbours: {shown:.300}{'...' * (len(shown) > 300)}"
    return f"{'not ' * (says != 'private')}{of}", rests

def proofs(record):
    """The proofs in a file, with names: it is one, or a certificate, whose claims are compared with what is proved."""
    for claim in (claims := record["claims"] if record.get("schema") == "ldpaudit.certificate/1" else ()):
        proof, name, refutes = claim.get("proof"), claim["id"], claim["verdict"] == "REFUTED"
        need(claim["verdict"] != "PROVED" or proof, f"the claim {name} is called PROVED, and has no proof")
        if proof:
            need(proof["says"] == ("not private" if refutes else "private"), f"the proof of {name} does not say its verdict")
            need(proof["relation"] == claim["neighbours"], f"the proof of {name} is of other neighbours")
            claimed = number((proof if claim["epsilon"] is None else claim)["epsilon"]) * (1 + (not refutes) * Fraction(1, 10**9))
            ends = [(number(proof["epsilon"]), claimed), (number(proof["delta"]), number(claim["delta"]))]  # read with that slack
            need(all(a >= b if refutes else a <= b for a, b in ends), f"the proof of {name} shows less than its claim")
    return [(f"{claim['id']}, {claim['verdict']}: ", claim.get("proof")) for claim in claims] or [("", record)]

def unique(pairs):
    need(len(dict(pairs)) == len(pairs), "a key twice")
    return dict(pairs)

def main(names):
    """Check these files. 0 where each holds a proof, and all are VALID, else 1; 2 where no file is named."""
    if not names or names[0].startswith("-"):
        print(__doc__.strip())
        return 2 * (names[:1] != ["--help"])
    worst, nothing = 0, lambda text: ...  # a number with a point or an exponent: not exact, and not left out
    for name in names:
        lines = []
        try:
            with open(name, "rb") as file:
                content = file.read(MOST_BYTES + 1)
            need(len(content) <= MOST_BYTES, f"a file of at most {MOST_BYTES} bytes")
            found = proofs(json.loads(content, object_pairs_hook=unique, parse_float=nothing, parse_constant=nothing))
            worst |= all(proof is None for _, proof in found)
            for claim, proof in found:
                sentence, rests = ("no proof", ()) if proof is None else check(proof)
                lines.append(f"{'VALID   ' if proof else 'NO PROOF'} {name}: {claim}{sentence}")
                lines += [f"         rests on: {'; '.join(map(THEOREMS.get, sorted(rests))) or 'the definition'}"] * bool(proof)
        except Exception as error:  # whatever a file makes of this program, it is not VALID
            worst = 1
            lines.append(f"INVALID  {name}: {'' if type(error) is Invalid else type(error).__name__ + ': '}{error}"[:400])
        print("\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines))
    return worst

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
