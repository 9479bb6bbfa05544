"""TrieHH (arXiv 1902.08534), table 1."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.tables._table import Row, Table

# users, theta, epsilon for L = 1, epsilon for L = 10
_PRINTED = (
    (10**4, 10, "0.105", "1.05"),
    (10**6, 12, "0.012", "0.12"),
    (10**8, 14, "0.0014", "0.014"),
    (10**10, 16, "0.00016", "0.0016"),
)
_LOOSE = "Theorem 1 charges every level for the rarest prefix that is frequent; the truth at its delta is far below"

TABLE = Table(
    name="triehh_table_1",
    title="Epsilon of a trie of L levels; gamma = 1, batch sqrt(n), theta = log10(n) + 6, delta = 1/(300 n)",
    source="TrieHH, table 1 (Theorem 1 and Corollary 1); add-remove neighbours",
    rows=tuple(
        Row(
            parameters=(
                ("users", users),
                ("batch", 10 ** ((len(str(users)) - 1) // 2)),
                ("threshold", threshold),
                ("levels", levels),
                ("delta", Fraction(1, 300 * users)),
            ),
            quantity="epsilon",
            printed=printed,
            theorem="TrieHH, Theorem 1",
            computation="threshold-epsilon",
            differs=_LOOSE,
        )
        for users, threshold, one, ten in _PRINTED
        for levels, printed in ((1, one), (10, ten))
    ),
)
