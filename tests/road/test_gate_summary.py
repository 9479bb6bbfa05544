"""The summary of a gate for whoever reviews a change."""

from __future__ import annotations

from ldpaudit.gate.findings import CacheUse, Finding, Gate
from ldpaudit.report.gate import GateFormat
from ldpaudit.verdict import Outcome

MOST = 65_536
"""Characters that a comment on GitHub may have."""


def finding(name: str, problem: str | None = None, was: str | None = None, now: str = "", reproduce: str = "run it") -> Finding:
    outcome = Outcome.REFUTED if problem == "refuted" else Outcome.PROVED
    return Finding(name, outcome, problem, f"about {name}", "a.toml", 1, reproduce, was=was, now=now)


def written(*findings: Finding, baseline: str | None = None, reuse: CacheUse | None = None) -> str:
    return GateFormat.markdown.write(Gate(findings, baseline, reuse))


def test_the_verdict_comes_first_and_is_that_of_the_exit_code() -> None:
    heads = {"failed": "refuted", "not everything was checked": "error", "a decision is missing": "undecided", "passed": None}
    for head, problem in heads.items():
        assert written(finding("a", problem)).startswith(f"### ldpaudit: {head}\n\n1 claims, ")


def test_what_changed_says_what_it_was_and_what_it_is() -> None:
    same, new = finding("same", was="X", now="X"), finding("new", was="", now="Z")
    page = written(same, finding("worse", was="X", now="Y"), new, baseline="b.json")
    changed = page.split("Changed against `b.json`:")[1].split("<details>")[0]
    assert [line for line in changed.splitlines() if line.startswith("|")][2:] == [
        "| worse | X | **Y** |", "| new | new | **Z** |",
    ]  # fmt: skip
    assert "Nothing changed against `b.json`." in written(same, baseline="b.json")
    assert "hanged" not in written(finding("a", now="X"))


def test_what_passes_is_folded_and_what_fails_is_not() -> None:
    page = written(finding("good"), finding("bad", "refuted"))
    shown, folded = page.split("<details><summary>1 passed</summary>\n\n|")
    assert "| bad | **refuted** |" in shown
    assert "| good | PROVED |" in folded
    assert "good" not in shown


def test_a_command_that_shows_several_stands_once() -> None:
    page = written(finding("a", "gone"), finding("b", "gone"), finding("c", "refuted", reproduce="another"))
    assert "\n- a, b: `run it`\n- c: `another`\n" in page


def test_what_was_not_done_again_is_said() -> None:
    reuse = CacheUse(("old",), ("fresh",), ("fresh: its entry is cut",))
    page = written(finding("a"), reuse=reuse)
    assert page.endswith("1 of 2 from the cache; done anew: fresh.\n\n- fresh: its entry is cut\n")
    assert "cache" not in written(finding("a"))


def test_nobody_is_called_by_what_a_file_says() -> None:
    """A comment is the build's, and an @name in it would reach people in its name."""
    page = written(finding("@everyone", "refuted", was="@a", now="@b"), baseline="b.json")
    assert "@<!-- -->everyone" in page
    assert "@everyone" not in page
    assert "@a" not in page


def test_a_summary_of_thousands_of_claims_is_short_enough_for_a_comment_and_says_what_it_leaves_out() -> None:
    many = [finding(f"claim {i}", "refuted" if i % 2 else None, "X" * 50, "Y" * 50, f"command {i}") for i in range(3000)]
    reuse = CacheUse((), tuple(f.id for f in many), tuple(f"{f.id}: {'x' * 100}" for f in many))
    page = written(*many, baseline="b.json", reuse=reuse)
    assert len(page) < MOST
    assert page.count(" more are in the build's log.") == 4
    assert "3000 claims, 1500 refuted." in page
