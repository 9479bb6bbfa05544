"""What a gate finds, and how the build ends."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from ldpaudit.reuse import Reuse
from ldpaudit.verdict import Outcome


class TargetRow(BaseModel):
    """A callable: whether samples refuted it, and what it claimed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    refuted: bool
    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim at the gate, or one target, or a file that gave none.

    Parameters
    ----------
    id : str
        ``deployment/claim``, the target's id, or the file's name where no claim of it was judged.
    outcome : Outcome or None
        Its verdict; UNDECIDED for a target that is not refuted, since code is only ever refuted or not; None where nothing
        was judged.
    problem : str or None
        Why the build fails over it: ``refuted``, ``not as recorded``, ``regressed``, ``gone``, ``undecided`` or ``error``.
    message : str
        The claim, the bound and the reason, in a line.
    file, line : str, int or None
        Where it is claimed; the path as seen from where the gate was called.
    reproduce : str
        The command that shows it alone.
    high : float or None
        Certified upper bound, which the baseline keeps.
    target : TargetRow or None
        Of a target, what the baseline keeps.
    was, now : str or None, str
        What the baseline has of it and what it is now, in words. ``was`` is empty where the baseline has nothing of this name,
        and None where there is no baseline.
    """

    id: str
    outcome: Outcome | None
    problem: str | None
    message: str
    file: str
    line: int | None
    reproduce: str
    high: float | None = None
    target: TargetRow | None = None
    was: str | None = None
    now: str = ""

    @property
    def state(self) -> str:
        """In a word: the problem, else ``undecided`` of a claim that is, else ``ok``."""
        return self.problem or ("undecided" if self.outcome is Outcome.UNDECIDED and self.target is None else "ok")


@dataclass(frozen=True, slots=True)
class Gate:
    """All findings, and how the build ends.

    0, or 1 for a claim that failed, 2 where not everything was checked, 3 for a decision that is missing.

    Parameters
    ----------
    findings : tuple of Finding
        In the order of the configuration.
    baseline : str or None
        The file with which they were compared.
    reuse : Reuse or None
        How much was done before; None where there was no cache.
    """

    findings: tuple[Finding, ...]
    baseline: str | None = None
    reuse: Reuse | None = None

    @property
    def exit_code(self) -> int:
        """As the command line documents it."""
        problems = {f.problem for f in self.findings if f.problem}
        if "error" in problems:
            return 2
        return 1 if problems - {"undecided"} else 3 if problems else 0
