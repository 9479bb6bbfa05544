"""GGKPV (arXiv 1908.11358), table 2: multi-message protocols. What we have of the paper lost the cells' formulas.

The first row (private aggregation, CSU+19 with BBGN19 or GPV19) is left out for that reason; the others are Theorem 4.1's
and 4.2's, as re-derived for one value a user.
"""

from __future__ import annotations

from ldpaudit.tables._table import Row, Table


def _row(protocol: str, what: str, printed: str, theorem: str) -> Row:
    return Row((("protocol", protocol), ("what", what)), "statement", printed, theorem)


TABLE = Table(
    name="ggkpv_table_2",
    title="Frequency estimation with many messages: messages, error, query time",
    source="GGKPV, table 2 (statements of theorems 4.1 and 4.2)",
    rows=(
        _row("Hadamard, private coin", "messages a user", "O(log(1/(εδ))/ε²)", "Theorem 4.1"),
        _row("Hadamard, private coin", "bits a message", "log n · log(2B)", "Theorem 4.1"),
        _row("Hadamard, private coin", "error", "O(log B + √(log B · log(1/(εδ)))/ε)", "Theorem 4.1"),
        _row("count-min, public coin", "messages a user", "1·log(2B) and, in expectation, a blanket of 2nτγ", "Theorem 4.2"),
        _row("count-min, public coin", "query time", "O(log(2B))", "Theorem 4.2"),
    ),
)
