"""Algebra of proofs on paper: its steps are checked, but not the sentence that they are for, so that it bounds and covers nothing.

Accountants of positive deltas rest on such proofs. What a certificate calls a theorem is the kernel's, or one of `_composition`.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from sympy import Expr

from ldpaudit.proofs import _algebra


@dataclass(slots=True)
class Steps:
    """What is shown on paper, and the steps of which a machine checked each."""

    sentence: str
    relation: str = "replace-one"
    steps: list[str] = field(default_factory=list)
    sentences: list[tuple[str, Expr | int, str, Expr | int]] = field(default_factory=list)  # reason, and both sides
    assumes: list[str] = field(default_factory=list)
    admissions: list[str] = field(default_factory=list)

    positive = staticmethod(_algebra.positive)
    nonnegative = staticmethod(_algebra.nonnegative)
    share = staticmethod(_algebra.share)

    def equal(self, left: Expr | int, right: Expr | int, why: str) -> None:
        """Check that two rational functions are the same."""
        self.steps.append(_algebra.equal(left, right, why))
        self.sentences.append((why, left, "=", right))

    def at_most(self, left: Expr | int, right: Expr | int, why: str) -> None:
        """Check that the left side never exceeds the right side."""
        self.steps.append(_algebra.at_most(left, right, why))
        self.sentences.append((why, left, "<=", right))

    def assume(self, sentence: str) -> None:
        """What the paper says in words."""
        self.assumes.append(sentence)

    def admit(self, sentence: str, source: str) -> None:
        """What it takes from elsewhere."""
        self.admissions.append(f"{sentence} ({source})")

    @property
    def statement(self) -> str:
        """The sentence, which no machine checked."""
        return self.sentence

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]] | None:
        """None: it is about no mechanism."""
        return None
