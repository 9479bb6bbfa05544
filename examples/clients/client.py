"""A client of ldpaudit's local mechanisms, with the standard library alone; docs/clients.md is what it implements.

It reads JSON lines: a header, then requests {"input": x}, each answered by {"report": y}, drawn from the operating system's
randomness. A request that holds "bytes" is a test: its report is drawn from these, and the answer says how many it used.
"""

import json
import os
import sys
from fractions import Fraction

PRIME = 2**31 - 1
MASK = 2**64 - 1


class Randomness:
    """Exact draws from bytes: those that are given, or else the operating system's."""

    def __init__(self, given=None):
        self.given, self.used = given, 0

    def take(self, count):
        self.used += count
        if self.given is None:
            return os.urandom(count)
        if self.used > len(self.given):
            raise EOFError("needs more bytes than it was given")
        return self.given[self.used - count : self.used]

    def uniform(self, n):
        """A number of range(n), each as likely."""
        bits = (n - 1).bit_length()
        while bits:
            drawn = int.from_bytes(self.take((bits + 7) // 8), "big") & ((1 << bits) - 1)
            if drawn < n:
                return drawn
        return 0

    def coin(self, p):
        """1 with probability exactly p, a fraction, else 0: its digits are compared with bytes until these differ."""
        num, den = p.numerator, p.denominator
        if num == den:
            return 1
        while num:
            digit, num = divmod(num * 256, den)
            byte = self.take(1)[0]
            if byte != digit:
                return int(byte < digit)
        return 0


def bucket(j, x, width):
    """Hash value of x under public function j: its coefficients are outputs of SplitMix64."""
    a = 1 + splitmix(2 * j + 1) % (PRIME - 1)
    b = splitmix(2 * j + 2) % PRIME
    return (a * x + b) % PRIME % width


def splitmix(index):
    z = index * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def parity(number):
    return bin(number).count("1") % 2


def another(x, n, r):
    """One of range(n) but x."""
    drawn = r.uniform(n - 1)
    return drawn + (drawn >= x)


def randomized_response(x, r, k, p):
    return x if r.coin(p) else another(x, k, r)


def unary_encoding(x, r, k, p, q):
    return [r.coin(p if bit == x else q) for bit in range(k)]


def permanent_rappor(x, r, bits, hashes, f, domain):
    signature = {bucket(j, x, bits) for j in range(hashes)}
    return [r.coin(1 - f / 2 if bit in signature else f / 2) for bit in range(bits)]


def shown(kept, r, reports, one, zero):
    """How often `reports` show each bit of what a device keeps for ever, one copy for each value, as 1."""
    counts = [0] * len(kept)
    for _ in range(reports):
        counts = [count + r.coin(one if bit else zero) for count, bit in zip(counts, kept)]
    return counts


def rappor(x, r, bits, hashes, f, p, q, reports, domain):
    return shown(permanent_rappor(x, r, bits, hashes, f, domain), r, reports, q, p)


def longitudinal_unary(x, r, k, p1, q1, p2, q2, reports):
    return shown(unary_encoding(x, r, k, p1, q1), r, reports, p2, q2)


def local_hashing(x, r, g, p, domain, prime):
    a, b = r.uniform(prime), r.uniform(prime)
    truth = (a * x + b) % prime % g
    return [a, b, truth if r.coin(p) else another(truth, g, r)]


def loloha(x, r, g, p1, p2, domain, prime, reports):
    a, b, kept = local_hashing(x, r, g, p1, domain, prime)
    return [a, b] + [kept if r.coin(p2) else another(kept, g, r) for _ in range(reports)]


def hadamard_response(x, r, k, p):
    row = x + 1
    y = r.uniform(1 << k.bit_length())
    return y if r.coin(p) != parity(y & row) else y ^ (row & -row)


def count_mean_sketch(x, r, width, hashes, p, domain):
    j = r.uniform(hashes)
    own = bucket(j, x, width)
    return [j] + [r.coin(p if each == own else 1 - p) for each in range(width)]


def hadamard_count_mean_sketch(x, r, width, hashes, p, domain):
    j, coefficient = r.uniform(hashes), r.uniform(width)
    return [j, coefficient, 1 if r.coin(p) != parity(coefficient & bucket(j, x, width)) else -1]


def dbitflip(x, r, k, d, p):
    drawn = set()
    for last in range(k - d, k):
        each = r.uniform(last + 1)
        drawn.add(last if each in drawn else each)
    return [r.coin(p if bit == x else 1 - p) if bit in drawn else -1 for bit in range(k)]


MECHANISMS = {
    "randomized_response": randomized_response,
    "unary_encoding": unary_encoding,
    "rappor": rappor,
    "rappor:permanent": permanent_rappor,
    "longitudinal_unary": longitudinal_unary,
    "local_hashing": local_hashing,
    "loloha": loloha,
    "hadamard_response": hadamard_response,
    "count_mean_sketch": count_mean_sketch,
    "count_mean_sketch:hadamard": hadamard_count_mean_sketch,
    "one_bit:dbitflip": dbitflip,
}


def answer(request, report, parameters):
    given = bytes.fromhex(request["bytes"]) if "bytes" in request else None
    r = Randomness(given)
    try:
        y = report(request["input"], r, **parameters)
    except EOFError as error:
        return {"error": str(error)}
    return {"report": y} if given is None else {"report": y, "used": r.used}


def main():
    header = json.loads(sys.stdin.readline())
    if header["format"] != "ldpaudit.vectors/1":
        sys.exit("client: needs a header of format ldpaudit.vectors/1")
    report = MECHANISMS[":".join(filter(None, (header["mechanism"], header["variant"])))]
    # A fraction is text, "num/den"; everything else is a whole number.
    parameters = {key: Fraction(value) if isinstance(value, str) else value for key, value in header["parameters"].items()}
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), report, parameters)), flush=True)


main()
