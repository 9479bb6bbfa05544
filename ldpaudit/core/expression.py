"""Exact numbers from text: a whitelist of syntax, never evaluated as code."""

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import flint

from ldpaudit.core.number import MOST_BITS
from ldpaudit.core.working_precision import working_precision

LONGEST = 200  # characters of an expression
LARGEST_POWER = 4096  # absolute value of an integer exponent, of a decimal's too
_BITS = (512, 2048, 8192)
"""Precision of the attempts to determine a transcendental value: differences may cancel all bits of the first."""
_KEPT_BITS = 256
_LONGEST_BASE, _LONGEST_POWER = 512, 1 << 19
"""Bits of a rational whose powers are exact, and of such a power; longer ones are balls, or they would grow without limit."""

_GRAMMAR = "a number, or numbers with + - * / ** ( ) and exp, log, sqrt"
_DECIMAL = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_STUCK = re.compile(r"(?<![\w.])(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+[A-Za-z]|(?![eE][+-]?\d)[A-Za-z])|[A-Za-z_]\w*\.\d")
"""A number and a name that nothing stands between."""
_NOT_FINITE = re.compile(r"\s*[+-]?(?:inf|infinity|nan)\s*", re.IGNORECASE)
_UNIT = re.compile(r"\s*([\d._]+(?:[eE][+-]?\d+)?)\s*([A-Za-z]{2,}|[A-DF-IK-Za-df-ik-z]|%)\s*")  # a number with a unit behind it
_COMMAS = re.compile(r"\s*[+-]?\d+(?:,\d+)+(?:\.\d*)?\s*")  # a number with commas before its decimals, or between thousands
_WITHOUT = {
    "nats": "needs a number without a unit, such as {}: an epsilon is in nats",
    "bits": "needs nats, such as '{}*log(2)'",
    "%": "needs a number without a unit, such as '{}/100' for a share",
    "percent": "needs a number without a unit, such as '{}/100' for a share",
    **dict.fromkeys("kK", "needs a number without a unit, such as {}*1000"),
    "M": "needs a number without a unit, such as {}*1000000",
}
_WITHOUT_OTHER = "needs a number without a unit, such as {}"
_FUNCTIONS = {"exp": flint.arb.exp, "log": flint.arb.log, "ln": flint.arb.log, "sqrt": flint.arb.sqrt}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

Value: TypeAlias = Fraction | flint.arb


def parse(text: str) -> Fraction:
    """The number that an expression means.

    ``text``: such as ``"2.05"``, ``"1/3"`` or ``"2/(1+exp(8))"``; decimals are exact. Returns exact where the
    expression is rational; else the nearest dyadic rational of 256 bits, which then *is* the parameter. Raises
    ValueError where the text is anything else, or its value is not finite, or longer than 2**17 bits.

    Examples
    --------
    >>> parse("2.05")
    Fraction(41, 20)
    >>> float(parse("2/(1+exp(8))"))
    0.0006707002...
    """
    if len(text) > LONGEST:
        raise ValueError(f"needs an expression of at most {LONGEST} characters, got {len(text)}")
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"needs a finite number, got {text!r}")
    if found := _UNIT.fullmatch(text):
        raise ValueError(f"{_WITHOUT.get(found[2], _WITHOUT_OTHER).format(found[1])}, got {text!r}")
    if _COMMAS.fullmatch(text):
        raise ValueError(f"needs a number without commas, such as 0.5 or 1000000, got {text!r}")
    if "^" in text:
        raise ValueError(f"needs ** for a power, got {text!r}")
    if _STUCK.search(text):  # of which Python's parser would warn on standard error
        raise ValueError(f"needs {_GRAMMAR}, got {text!r}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"needs {_GRAMMAR}, got {text!r}") from None
    for bits in _BITS:
        with working_precision(bits):
            try:
                value = _evaluate(tree.body, text.strip())
            except (ZeroDivisionError, OverflowError):
                raise ValueError(f"needs a finite number, got {text!r}") from None
            if isinstance(value, Fraction) or value.is_exact() or value.rel_accuracy_bits() >= _KEPT_BITS:
                return _rational(value, text)
            if not value.is_finite():
                raise ValueError(f"needs a finite number of moderate size, got {text!r}")
    raise ValueError(f"needs a number that {_BITS[-1]} bits can distinguish from 0, got {text!r}")


def _rational(value: Value, text: str) -> Fraction:
    """The value itself, or of a ball the first 256 bits of its middle."""
    if isinstance(value, Fraction):
        longest = max(value.numerator.bit_length(), value.denominator.bit_length())
    elif value.is_finite():
        mantissa, exponent = map(int, value.mid().man_exp())
        longest = mantissa.bit_length() + abs(exponent)
    else:
        raise ValueError(f"needs a finite number, got {text!r}")
    if longest > MOST_BITS:
        raise ValueError(f"needs a number of at most {MOST_BITS} bits, got {text!r}")
    if isinstance(value, Fraction):
        return value
    shift = max(0, mantissa.bit_length() - _KEPT_BITS)
    return Fraction(mantissa >> shift) * Fraction(2) ** (exponent + shift)


def _evaluate(node: ast.expr, text: str) -> Value:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return _decimal((ast.get_source_segment(text, node) or "").replace("_", ""), text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, text)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _evaluate(operand, text)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _evaluate(left, text), _evaluate(right, text), text)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            result: flint.arb = _FUNCTIONS[name](_ball(_evaluate(argument, text)))
            return result
    raise ValueError(f"needs {_GRAMMAR}, got {text!r}")


def _decimal(digits: str, text: str) -> Fraction:
    """The source's own digits: a float constant would already be rounded."""
    found = _DECIMAL.fullmatch(digits)
    if found is None:
        raise ValueError(f"needs {_GRAMMAR}, got {text!r}")
    if found[1] and abs(int(found[1])) > LARGEST_POWER:
        raise ValueError(f"needs an integer exponent of at most {LARGEST_POWER}, got {text!r}")
    return Fraction(digits)


def _binary(op: ast.operator, left: Value, right: Value, text: str) -> Value:
    if isinstance(op, ast.Pow):
        if not isinstance(right, Fraction) or right.denominator != 1 or abs(right) > LARGEST_POWER:
            raise ValueError(f"needs an integer exponent of at most {LARGEST_POWER}, got {text!r}")
        if isinstance(left, Fraction):
            bits = left.numerator.bit_length() + left.denominator.bit_length()
            if bits > _LONGEST_BASE or bits * abs(right) > _LONGEST_POWER:
                left = _ball(left)
        return left ** int(right)
    if type(op) not in _OPERATORS:
        raise ValueError(f"needs {_GRAMMAR}, got {text!r}")
    if not (isinstance(left, Fraction) and isinstance(right, Fraction)):
        left, right = _ball(left), _ball(right)
    result: Value = _OPERATORS[type(op)](left, right)
    return result


def _ball(value: Value) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator)) if isinstance(value, Fraction) else value
