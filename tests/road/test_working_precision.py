"""The precision of ball arithmetic is one global variable of python-flint's: no thread may see another's."""

import ast
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from itertools import cycle, takewhile

import flint
import pytest

import ldpaudit as ldp
from ldpaudit.core.expression import parse
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.derivation import derive
from ldpaudit.enclosure import round_down, round_up
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace, TruncatedGeometric, UnaryEncoding
from tests.helpers import ROOT, python, raises, stdout

THREADS = 8
SWITCHING = 1e-6
"""Seconds for which a thread may run before another has its turn; Python's own 5 ms are longer than most answers take."""
LONG = 3.0
"""Seconds for which the threads ask: without turns, wrong answers come within them."""

Question = Callable[[], str]


@cache
def sources() -> dict[str, ast.Module]:
    """The library's files, and those of the benchmarks."""
    folders = ("accountants", "attacks", "proofs", "ldpaudit", "benchmarks")
    files = {file.resolve() for folder in folders for file in (ROOT / folder).rglob("*.py")}
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in sorted(files)}
    # To parse a file takes long, and most say none of these words.
    words = ("ctx", "working_precision", "cached_property")
    return {file: ast.parse(text) for file, text in texts.items() if any(word in text for word in words)}


def touches_context(node: ast.AST) -> bool:
    """Whether it names python-flint's context."""
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("flint") and any(alias.name in ("ctx", "*") for alias in node.names)
    return isinstance(node, ast.Attribute) and ast.unparse(node).endswith("flint.ctx")


def blocks(tree: ast.Module) -> Iterator[ast.With]:
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and any("working_precision" in ast.unparse(item) for item in node.items):
            yield node


def test_one_module_sets_the_precision_of_flint_and_no_block_is_left_open_or_property_cached_under_a_lock() -> None:
    """Two locks that two threads take in opposite orders are never released."""
    found = {file for file, tree in sources().items() if any(map(touches_context, ast.walk(tree)))}
    assert found == {"ldpaudit/core/working_precision.py"}
    for file, tree in sources().items():
        for block in blocks(tree):
            lazy = [node for node in ast.walk(block) if isinstance(node, ast.Yield | ast.YieldFrom)]
            assert not lazy, f"{file}:{block.lineno} yields inside"
    for file, tree in sources().items():
        named = {getattr(node, "id", getattr(node, "attr", None)) for node in ast.walk(tree)}
        assert "cached_property" not in named, file


def questions() -> dict[str, Question]:
    """A mix of accountants, parsing, derivations and audits, none of whose answers is remembered."""
    response, unary = KaryRandomizedResponse.for_epsilon(1.0, k=5), UnaryEncoding.symmetric(Fraction(9, 10), k=4)
    plans = {
        "response": ldp.Run(response),
        "repeated": ldp.Repeat(ldp.Run(response), 12),
        "mixed": ldp.Compose((ldp.Run(response), ldp.Run(unary))),
        "shuffled": ldp.Shuffle(ldp.Run(response), 12),
        "geometric": ldp.Run(TruncatedGeometric.for_epsilon(Fraction(1, 3), bound=4)),
        "laplace": ldp.Run(Laplace(Fraction(2, 3))),
    }
    asked: dict[str, Question] = {}
    for name, plan in plans.items():
        asked[f"{name}: delta"] = lambda plan=plan: repr(ldp.account(plan).delta(Fraction(2, 7)))  # type: ignore[misc]
        asked[f"{name}: epsilon"] = lambda plan=plan: repr(ldp.account(plan).epsilon(1e-3))  # type: ignore[misc]
    for text in ("2/(1+exp(8))", "sqrt(2)*log(3)/7", "exp(1/3)-1"):
        asked[f"parse {text}"] = lambda text=text: repr(parse(text))  # type: ignore[misc]
    asked["constructor"] = lambda: repr(KaryRandomizedResponse.for_epsilon(Fraction(5, 7), k=9))
    asked["derivation"] = lambda: repr(derive(ldp.Repeat(ldp.Run(response), 3), "replace-one").epsilon)
    asked["audit"] = lambda: repr(ldp.audit(response, epsilon=1.0, trials=400, seed=5).epsilon_lower)
    return asked


QUESTIONS = questions()


@pytest.fixture
def switching() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCHING)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("switching")
def test_eight_threads_find_bit_by_bit_what_one_finds() -> None:
    alone = {name: ask() for name, ask in QUESTIONS.items()}
    names = list(QUESTIONS)

    end = time.monotonic() + LONG

    def differences(thread: int) -> set[str]:
        turns = cycle(names[thread:] + names[:thread])
        return {name for name in takewhile(lambda _: time.monotonic() < end, turns) if QUESTIONS[name]() != alone[name]}

    with ThreadPoolExecutor(THREADS) as pool:
        assert set().union(*pool.map(differences, range(THREADS))) == set()


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_answer_depends_on_the_precision_that_is_in_force(name: str) -> None:
    usual = QUESTIONS[name]()
    with working_precision(2):
        assert QUESTIONS[name]() == usual


def test_a_block_ends_with_the_precision_that_it_found_on_which_no_ball_s_floats_depend() -> None:
    def fail() -> None:
        with working_precision(200):
            raise ArithmeticError(f"at {working_bits()} bits")

    with working_precision(77):
        raises(ArithmeticError, "at 200 bits", fail)
        assert working_bits() == 77
    with working_precision(200):
        ball = flint.arb(2).sqrt()
    with working_precision(2):
        ends = round_down(ball), round_up(ball)
    assert ends == (math.nextafter(math.sqrt(2), 0), math.sqrt(2))


def test_a_thread_waits_until_the_block_of_another_has_ended() -> None:
    seen: list[int] = []

    def look() -> None:
        with working_precision(64):
            seen.append(working_bits())

    other = threading.Thread(target=look)
    with working_precision(99):
        other.start()
        other.join(0.05)
        assert (seen, working_bits()) == ([], 99)
    other.join()
    assert seen == [64]


def test_a_precision_that_is_refused_keeps_nobody_waiting() -> None:
    with pytest.raises(ValueError, match="prec"), working_precision(-1):
        pass
    other = threading.Thread(target=parse, args=("exp(0)",), daemon=True)
    other.start()
    other.join(20)
    assert not other.is_alive()


FORKING = """
import os, signal, threading
from ldpaudit.core.working_precision import working_bits, working_precision
def compute():
    while True:
        with working_precision(7): sum(range(2000))
before = working_bits()
threading.Thread(target=compute, daemon=True).start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        found = working_bits()
        worker = threading.Thread(target=lambda: working_precision(64).__enter__())
        worker.start(); worker.join()
        os._exit(found != before)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="there is no fork here")
def test_a_process_that_is_forked_while_another_thread_computes_can_compute() -> None:
    stdout(python("-W", "ignore", "-c", FORKING))
