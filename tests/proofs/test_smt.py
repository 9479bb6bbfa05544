"""Solvers that share nothing with the kernel find its sentences true, and false ones not."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ldpaudit.derivation import proofs_of
from ldpaudit.mechanisms import stems
from ldpaudit.proofs._kernel import Noise, Part
from ldpaudit.proofs._smt import script, scripts
from ldpaudit.proofs._steps import Steps
from tests.helpers import run
from tests.proofs.test_kernel import KEPT, KNOWN, ODDS, P, S, X, theorem

z3 = pytest.importorskip("z3", reason="z3 is not installed")


@cache
def answer(block: str) -> str:
    """What z3 says of a block."""
    solver = z3.SolverFor("QF_NRA")
    solver.set("timeout", 20_000)
    solver.from_string(block.replace("(check-sat)", ""))
    return str(solver.check())


def blocks(text: str) -> list[str]:
    """Without reasons, of which several may have one sentence."""
    return [block.split("\n", 1)[1] for block in text.split("(reset)\n")[:-1]]


@pytest.mark.parametrize("stem", stems())
def test_z3_finds_no_sentence_of_a_proof_false(stem: str) -> None:
    for name, text in scripts((stem, proof) for proof in proofs_of(stem)):
        assert {answer(block) for block in blocks(text)} <= {"unsat"}, name


@pytest.mark.slow
def test_cvc5_finds_no_sentence_false_and_decides_nearly_all() -> None:
    cvc5 = pytest.importorskip("cvc5", reason="cvc5 is not installed")
    texts = (text for stem in stems() for _, text in scripts((stem, each) for each in proofs_of(stem)))
    distinct = {block for text in texts for block in blocks(text)}
    found: Counter[str] = Counter()
    for block in distinct:
        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("tlimit-per", "5000")
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, block, "block")
        while not (command := parser.nextCommand()).isNull():
            found[command.invoke(solver, parser.getSymbolManager()).strip()] += 1
    assert found["unsat"] >= len(distinct) - 5
    assert found["sat"] == 0


FALSE: dict[str, dict[str, Any]] = {
    "less than a cell's ratio": {"parts": [Part((1 + ODDS) / 2, [KEPT])]},
    "a cell is dropped": {"parts": [Part(ODDS, [{"kept": (P, 1 - P)}])]},
    "never attained": {"parts": [Part(2 * ODDS, [KEPT])]},
    "never attained together": {"parts": [Noise(1 / X, S / X)], "worst": {S: 0}},
    "a larger change": {"parts": [Noise(1 / X, 2 / X)], "tight": None},
    "one direction more often": {"parts": [Part(ODDS, [KEPT], 2, 2 * ODDS), Part(2 * ODDS, [KEPT], 1, ODDS)], "tight": None},
    "not recovered": {"recover": {symbol: 2 * value for symbol, value in KNOWN["recover"].items()}},
    "not identical": {"identities": {"but at 1": (X**2, X)}},
}
"""What is changed of a theorem that was checked."""


@pytest.mark.parametrize("name", FALSE)
def test_z3_finds_a_false_sentence_false(name: str) -> None:
    t = theorem(Part(ODDS, [KEPT]), tight="")
    assert {answer(block) for block in blocks(script(t))} == {"unsat"}
    for key, value in FALSE[name].items():
        object.__setattr__(t, key, value)
    assert "sat" in {answer(block) for block in blocks(script(t))}


@pytest.mark.parametrize("sides", [(1, "<=", S), (S, "=", S**2), ((X**2 - 1) / (X - 1), "=", X + 1)], ids=str)
def test_z3_finds_a_false_step_false_and_one_that_hides_a_pole(sides: tuple[Any, str, Any]) -> None:
    assert [answer(block) for block in blocks(script(Steps("on paper", sentences=[("why", *sides)])))] == ["sat"]


def test_the_command_writes_a_file_of_each_proof(tmp_path: Path) -> None:
    assert run("prove", "genprot", "geometric", "--smt", str(tmp_path / "new")).returncode == 0
    written = sorted(tmp_path.rglob("*.smt2"))
    assert [file.name for file in written] == [*(f"genprot-{i}.smt2" for i in range(1, 7)), "geometric-7.smt2", "geometric-8.smt2"]
    assert all("(check-sat)" in file.read_text() for file in written)
