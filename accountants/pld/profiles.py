"""Profiles made of other profiles, and what a profile may promise of the pairs behind it."""

from __future__ import annotations

from dataclasses import dataclass

from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile


class OnePairProfile(PrivacyProfile):
    """A profile that one pair of inputs attains at every epsilon, in both directions: composition may build on it from below."""


@dataclass(frozen=True)
class Bracket(PrivacyProfile):
    """Between two profiles, one certainly below and one certainly above; where the two agree, it is theirs.

    Parameters
    ----------
    low, high : PrivacyProfile
        Of pairs of laws that are attained, and of pairs that dominate.
    """

    low: PrivacyProfile
    high: PrivacyProfile

    def delta(self, epsilon: Number) -> Enclosure:
        """From the lower end of one to the upper end of the other."""
        return self._join(self.low.delta(epsilon), self.high.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From the lower end of one to the upper end of the other."""
        return self._join(self.low.epsilon(delta), self.high.epsilon(delta))

    @staticmethod
    def _join(low: Enclosure, high: Enclosure) -> Enclosure:
        return high if low == high else Enclosure(low.low, high.high, Rigour.INTERVAL, high.source)


@dataclass(frozen=True)
class LargestProfile(PrivacyProfile):
    """The larger of the profiles of several pairs, each of which occurs.

    Parameters
    ----------
    profiles : tuple of PrivacyProfile
        At least one.
    """

    profiles: tuple[PrivacyProfile, ...]

    def delta(self, epsilon: Number) -> Enclosure:
        """Of the largest."""
        return self._largest([profile.delta(epsilon) for profile in self.profiles])

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Of the largest."""
        return self._largest([profile.epsilon(delta) for profile in self.profiles])

    @staticmethod
    def _largest(found: list[Enclosure]) -> Enclosure:
        top = max(found, key=lambda e: e.high)
        low = max(e.low for e in found)
        # Only those that may be the largest say how rigorous that is.
        rigour = min(e.rigour for e in found if e.high >= low)
        return Enclosure(low, top.high, rigour, top.source)


@dataclass(frozen=True)
class PostProcessedProfile(PrivacyProfile):
    """Post-processing never increases delta, and nothing is known from below."""

    inner: PrivacyProfile

    def delta(self, epsilon: Number) -> Enclosure:
        """[0, what the inner plan's delta may be]."""
        return self._from_above(self.inner.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """[0, what the inner plan's epsilon may be]."""
        return self._from_above(self.inner.epsilon(delta))

    @staticmethod
    def _from_above(e: Enclosure) -> Enclosure:
        return Enclosure(0.0, e.high, min(e.rigour, Rigour.INTERVAL), f"post-processing of: {e.source}")
