"""GGKPV (arXiv 1908.11358), table 1: statements, unnormalised error, tilde hides polylogarithms of n and B."""

from __future__ import annotations

from ldpaudit.tables._table import Row, Table


def _row(model: str, what: str, printed: str, theorem: str) -> Row:
    return Row((("model", model), ("what", what)), "statement", printed, theorem)


TABLE = Table(
    name="ggkpv_table_1",
    title="Frequency estimation: largest expected error over B values, and communication",
    source="GGKPV, table 1",
    rows=(
        _row("local", "error, reached", "Õ(√n)", "BNST17"),
        _row("local", "error, at least", "Ω̃(√n)", "BS15"),
        _row("shuffled, one message", "error, reached", "Õ(min(n^(1/4), √B))", "War65, EPK14, BBGN19; Theorem 3.4"),
        _row("shuffled, one message", "error, at least", "Ω̃(min(n^(1/4), √B))", "Theorem 3.1"),
        _row("shuffled, one message", "bits a user", "Θ(B) where the error is n^(1/4), Θ(log B) where √B", "Theorem 3.4"),
        _row("shuffled, many messages", "error and bits a user", "Θ̃(1)", "Theorem 4.1"),
        _row("central", "error", "Θ̃(1)", "MT07, SU17"),
    ),
)
