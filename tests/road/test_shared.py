"""Equal plans share a profile, and a profile its answers."""

import gc
import weakref
from fractions import Fraction

from ldpaudit import Compose, Repeat, Shuffle, account
from ldpaudit.mechanisms import KaryRandomizedResponse


def test_equal_plans_have_one_profile_as_long_as_somebody_has_it() -> None:
    m = KaryRandomizedResponse(3, Fraction(1, 2))
    profile = account(Repeat(Shuffle(m, 10), 4))
    assert account(Repeat(Shuffle(KaryRandomizedResponse(3, Fraction(1, 2)), 10), 4)) is profile
    assert account(Compose([Repeat(Shuffle(m, 10), 3), Shuffle(m, 10)])) is profile
    assert account(Repeat(Shuffle(m, 10), 5)) is not profile
    assert profile.delta(0.1) is profile.delta(Fraction(0.1)) is not profile.delta(0.2)
    left = weakref.ref(profile)
    del profile
    gc.collect()
    assert left() is None
