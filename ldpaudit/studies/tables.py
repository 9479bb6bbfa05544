"""The papers' bound tables, as printed: data. The certified values beside them are `ldpaudit.accountants.claims.tables`'."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Parameter: TypeAlias = int | str | Fraction

@dataclass(frozen=True, slots=True)
class Row:
    """One printed value, or one printed statement."""

    parameters: tuple[tuple[str, Parameter], ...]  # what the value is printed for, by name
    quantity: str  # ``epsilon`` or ``delta``; ``statement`` where the printed cell is a formula or words
    printed: str  # as printed, to the digits printed
    theorem: str  # where the source takes it from
    # name of the certified computation of the same quantity; empty for statements, and where there is none
    computation: str = ""
    differs: str = ""  # why the certified value is expected to be another, where it is known

    @property
    def value(self) -> Decimal:
        """The printed number. Raises ValueError for a statement."""
        if self.quantity == "statement":
            raise ValueError(f"{self.printed!r} is a statement, not a number")
        return Decimal(self.printed)

    def values(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return dict(self.parameters)


@dataclass(frozen=True, slots=True)
class Table:
    """A printed table."""

    name: str  # as in ``ldpaudit table NAME``
    title: str  # what it shows, and where it is printed
    source: str
    rows: tuple[Row, ...]  # in the printed order


def _statements(first: str, *cells: tuple[str, str, str, str]) -> tuple[Row, ...]:
    """Rows of words: of what (named `first` in the parameters), which quantity, what is printed, and by which theorem."""
    return tuple(Row(((first, of), ("what", what)), "statement", printed, theorem) for of, what, printed, theorem in cells)


def _sum_of_bits(epsilon0: Parameter, users: int, delta: Fraction, printed: str, who: str, neighbours: str) -> Row:
    parameters = (("epsilon0", epsilon0), ("users", users), ("delta", delta), ("neighbours", neighbours))
    return Row(parameters, "epsilon", printed, f"the {who} names no theorem in what we have", "sum-epsilon")


_ENPA = {
    10**4: ".53 7.67 7.98 8.00 8.00 8.00",
    10**5: ".01 .25 .46 .66 .84 1.02",
    10**6: ".01 .04 .10 .15 .19 .23",
    10**7: ".01 .01 .03 .04 .06 .07",
}
"""By users, for delta = 1/10, 1/100, ..."""
_IETF_SIGMA = (("23.3903", "0.317"), ("8.5402", "0.906"), ("5.1904", "1.528"))
"""Of the discrete Gaussian noise that one aggregator adds, beside the same printed numbers."""
_IETF = ((Fraction(5), "0.317"), (Fraction(13, 2), "0.906"), (Fraction(7), "1.528"))
_TRIEHH = ((4, "0.105", "1.05"), (6, "0.012", "0.12"), (8, "0.0014", "0.014"), (10, "0.00016", "0.0016"))
"""log10(n), and epsilon for L = 1 and for L = 10."""
_LOOSE = "Theorem 1 charges every level for the rarest prefix that is frequent; the truth at its delta is far below"
_HADAMARD, _COUNT_MIN = "Hadamard, private coin", "count-min, public coin"

_TABLES = (
    Table(
        "enpa_figure_2", "Epsilon of the sum of reports of noisy bits, epsilon0 = 8",
        "ENPA white paper, figure 2; read as: a report is deleted, for the numbers are those of one bit",
        tuple(
            _sum_of_bits(8, users, Fraction(1, 10 ** (place + 1)), printed, "white paper", "add-remove")
            for users, line in _ENPA.items() for place, printed in enumerate(line.split())
        ),
    ),
    Table(
        "ggkpv_table_1", "Frequency estimation: largest expected error over B values, and communication", "GGKPV, table 1",
        # arXiv 1908.11358: unnormalised error, tilde hides polylogarithms of n and B
        _statements(
            "model",
            ("local", "error, reached", "Õ(√n)", "BNST17"),
            ("local", "error, at least", "Ω̃(√n)", "BS15"),
            ("shuffled, one message", "error, reached", "Õ(min(n^(1/4), √B))", "War65, EPK14, BBGN19; Theorem 3.4"),
            ("shuffled, one message", "error, at least", "Ω̃(min(n^(1/4), √B))", "Theorem 3.1"),
            ("shuffled, one message", "bits a user", "Θ(B) where the error is n^(1/4), Θ(log B) where √B", "Theorem 3.4"),
            ("shuffled, many messages", "error and bits a user", "Θ̃(1)", "Theorem 4.1"),
            ("central", "error", "Θ̃(1)", "MT07, SU17"),
        ),
    ),
    # What we have of the paper lost the cells' formulas: the first row (private aggregation, CSU+19 with BBGN19 or GPV19) is left
    # out for that reason; the others are Theorem 4.1's and 4.2's, as re-derived for one value a user.
    Table(
        "ggkpv_table_2", "Frequency estimation with many messages: messages, error, query time",
        "GGKPV, table 2 (statements of theorems 4.1 and 4.2)",
        _statements(
            "protocol",
            (_HADAMARD, "messages a user", "O(log(1/(εδ))/ε²)", "Theorem 4.1"),
            (_HADAMARD, "bits a message", "log n · log(2B)", "Theorem 4.1"),
            (_HADAMARD, "error", "O(log B + √(log B · log(1/(εδ)))/ε)", "Theorem 4.1"),
            (_COUNT_MIN, "messages a user", "1·log(2B) and, in expectation, a blanket of 2nτγ", "Theorem 4.2"),
            (_COUNT_MIN, "query time", "O(log(2B))", "Theorem 4.2"),
        ),
    ),
    Table(
        "ietf_draft_dp", "Epsilon of a sum of 100,000 reports: noisy bits of epsilon0, or an aggregator's noise; delta = 1e-9",
        "draft-wang-ppm-differential-privacy; a value is replaced, or its report deleted",
        tuple(
            _sum_of_bits(epsilon0, 10**5, Fraction(1, 10**9), printed, "draft", neighbours)
            for neighbours in ("replace-one", "add-remove") for epsilon0, printed in _IETF
        ) + tuple(
            Row((("sigma", sigma), ("delta", Fraction(1, 10**9)), ("neighbours", "replace-one")), "epsilon", printed,
                "the draft names no theorem in what we have", "noise-epsilon")
            for sigma, printed in _IETF_SIGMA
        ),
    ),
    Table(
        "triehh_table_1", "Epsilon of a trie of L levels; gamma = 1, batch sqrt(n), theta = log10(n) + 6, delta = 1/(300 n)",
        "TrieHH, table 1 (Theorem 1 and Corollary 1); add-remove neighbours",
        tuple(
            Row((("users", 10**log), ("batch", 10 ** (log // 2)), ("threshold", log + 6), ("levels", levels),
                 ("delta", Fraction(1, 300 * 10**log))), "epsilon", printed, "TrieHH, Theorem 1", "threshold-epsilon", _LOOSE)
            for log, *epsilons in _TRIEHH for levels, printed in zip((1, 10), epsilons, strict=True)
        ),
    ),
)  # fmt: skip


def names() -> list[str]:
    """Names of all tables."""
    return [table.name for table in _TABLES]


def load(name: str) -> Table:
    """A table by name. Raises KeyError where there is none; it names those there are."""
    for table in _TABLES:
        if table.name == name:
            return table
    raise KeyError(f"no table {name!r}; there are {', '.join(names())}")
