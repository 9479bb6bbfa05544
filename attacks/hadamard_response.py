"""The attack on Hadamard response."""

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, loss_of
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


def attack(m: HadamardResponse, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a column speaks for the value whose row alone is +1 there."""
    return by_support((0, m.k - 1), loss_of(m.p / (1 - m.p)), m.supports, "{H[x + 1, y] = 1, H[x' + 1, y] = -1}")
