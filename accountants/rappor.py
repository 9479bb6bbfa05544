"""What RAPPOR costs."""

from __future__ import annotations

from dataclasses import replace

from ldpaudit.accountants.composition.product import exact_reports, product_profile
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.mechanisms.rappor import SEARCHED, Difference, PermanentRappor, Rappor
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: Rappor | PermanentRappor, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of one or more reports of RAPPOR, or of the permanent response that all reports ever show.

    .. math:: \varepsilon(0) = h \log \frac{q^*(1-p^*)}{p^*(1-q^*)} \quad\text{(one report)}, \qquad
              \varepsilon(0) = 2h \log \frac{1-f/2}{f/2} \quad\text{(for ever)}

    with :math:`q^* = f(p+q)/2 + (1-f)q` and :math:`p^* = f(p+q)/2 + (1-f)p`. Where two signatures differ in a bits set
    only by x and b set only by x', the laws differ in these a + b independent bits alone, and more of either cost more;
    a, b <= h. The formulas are attained where two values' signatures have h bits each and none in common, on the event
    {all bits of x always 1, all bits of x' always 0}; else the largest (a, b) of two values count.
    Source: Erlingsson, Pihur, Korolova 2014, theorems 1 and 2. Proof: proofs/rappor.py.

    Parameters
    ----------
    m : Rappor or PermanentRappor
        As its constructor ensures.
    neighbours : Neighbours
        Replace-one.

    Returns
    -------
    PrivacyProfile
        In nats. Rigour EXACT, but INTERVAL where there are many reports, or where a domain of more than 1,024 values is
        not seen to attain the largest difference that signatures may have.
    """
    if isinstance(m, Rappor) and m.reports > (most := exact_reports(m.f, m.p, m.q)):
        # Fewer reports are a part of these; the permanent response is all that any number of reports can show.
        return Bracket(profile(replace(m, reports=most)), profile(m.lifetime()))
    one, zero = m.bit_law(1), m.bit_law(0)
    ones, zeros = list(zip(one, zero, strict=True)), list(zip(zero, one, strict=True))

    def over(differences: set[Difference]) -> PrivacyProfile:
        pairs = ([(ones, a), (zeros, b)] for a, b in differences)
        source = " or ".join(f"{a} bits that only x sets and {b} that only x' sets" for a, b in sorted(differences))
        return product_profile(pairs, f"RAPPOR: {source}")

    attained, possible = set(m.differences), largest_differences(m.bits, m.hashes)
    if attained == possible or m.domain <= SEARCHED:
        return over(attained)
    return Bracket(over(attained), over(possible))


def largest_differences(bits: int, hashes: int) -> set[Difference]:
    """How many bits two signatures may each have for themselves at most: all different, or the filter full."""
    if bits >= 2 * hashes:
        return {(hashes, hashes)}
    # Every value sets a bit.
    return {(a, bits - a) for a in range(max(1, bits - hashes), min(hashes, bits - 1) + 1)}
