"""Theorems: pure guarantees add under composition, and survive post-processing."""

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check both theorems: basic composition, then post-processing."""
    return _composition(), _post_processing()


def _composition() -> Steps:
    t = Steps("the epsilons of independent views add up")
    q1, q2 = t.positive("q1", "q2")
    gap1, gap2, e1, e2 = t.nonnegative("gap1", "gap2", "e1", "e2")
    r1, r2 = 1 + e1, 1 + e2
    # Any p at most r q is such a quotient: gap = r q / p - 1.
    p1, p2 = r1 * q1 / (1 + gap1), r2 * q2 / (1 + gap2)
    t.at_most(p1, r1 * q1, "the first view's guarantee")
    t.at_most(p2, r2 * q2, "the second view's guarantee")
    t.at_most(p1 * p2, r1 * r2 * q1 * q2, "both views, independent: the ratios multiply")
    return t


def _post_processing() -> Steps:
    t = Steps("post-processing never increases epsilon")
    q1, q2 = t.positive("q1", "q2")
    gap1, gap2, e = t.nonnegative("gap1", "gap2", "e")
    p1, p2 = (1 + e) * q1 / (1 + gap1), (1 + e) * q2 / (1 + gap2)
    t.at_most(p1 + p2, (1 + e) * (q1 + q2), "two views with one image")
    t.assume("an image of more views is one of two, again and again; a random image is one of the view and a coin")
    return t
