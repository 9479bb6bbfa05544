r"""Subsampled plans: m of n users are drawn secretly, without replacement, and the plan runs on them.

With q = m/n and :math:`\delta` the profile of the plan on m users for replace-one neighbours,

.. math:: \delta_{sub}(\varepsilon') \le q\, \delta(\varepsilon), \qquad e^{\varepsilon'} = 1 + q (e^\varepsilon - 1)

Proof: given the other users who are drawn, the views are :math:`\mu_0 = (1-q) \nu + q \mu` and :math:`\mu_1 = (1-q) \nu + q \mu'`,
with :math:`\mu, \mu'` the plan's on neighbours and :math:`\nu` its view with another user instead, a neighbour of both;
advanced joint convexity of the divergence does the rest. Source: Balle, Barthe, Gaboardi 2018, theorems 2 and 9.

For shuffled reports of a mechanism `shuffling.replaced` shows less, and data sets that nearly attain it.

Where reports name their users (`NamedSample`), who was drawn is no secret, and only delta is smaller.

For m = 1 it is tight: where all others hold the other value x', :math:`\nu = \mu'`, and
:math:`D_{e^{\varepsilon'}}((1-q) \mu' + q \mu \,\|\, \mu') = q D_{e^\varepsilon}(\mu \| \mu')`. Composed, no pair of inputs and
value of the others is the worst at every epsilon: where the laws are few, all are listed.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.sampled import NamedSample, SubsampledProfile
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.bounds import FINE, BlanketBound, Bound
from ldpaudit.accountants.shuffling.randomizers import tabulated
from ldpaudit.accountants.shuffling.replaced import of_any_map
from ldpaudit.accountants.shuffling.shuffled import ShuffleProfile
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Aggregate, Poisson, Run, Shuffle, Subsample, names_users, nodes, of_many_users
from ldpaudit.profile import PrivacyProfile

_FEW_INPUTS, _FEW_VIEWS = 8, 64
"""Up to which all pairs of laws of one user who is drawn are listed, some four hundred."""
_FEW = 100
"""Reports up to which amplification of the whole shuffle may show less than `replaced` does; of twenty and more it never did."""


def profile(plan: Subsample, neighbours: Neighbours | None = None) -> PrivacyProfile:
    """Profile of a plan on some of the users.

    In nats. For one user drawn, as rigorous as the plan's own; else INTERVAL: of a shuffled mechanism by `replaced` and by data
    sets, of any other plan with lower end 0. Raises Unsupported for another relation than replace-one, and for reports that are not
    shuffled: a user who sends one was drawn.
    """
    if neighbours not in (None, REPLACE_ONE):
        raise Unsupported(plan, f"only replace-one neighbours keep the number of users, not {neighbours}")
    inner = plan.plan
    if system := of_many_users(inner):
        raise Unsupported(inner, f"a sample of users needs a mechanism for one user, but this is {system}: it is of all of them")
    for node in nodes(inner):
        if isinstance(node, Shuffle | Aggregate) and node.users != plan.batch:
            raise Unsupported(plan, f"{node} is of {node.users} users, but the number drawn is {plan.batch}")
    if plan.batch > 1 and not isinstance(inner, Shuffle):
        raise Unsupported(plan, f"to hide who was drawn, the reports of all {plan.batch} users need to be shuffled together")
    whole, rate = account(inner, REPLACE_ONE), Fraction(plan.batch, plan.users)
    if plan.batch == plan.users:
        return whole
    if names_users(plan):
        return NamedSample(whole, rate)
    listed = _listed(inner.mechanism, rate) if isinstance(inner, Run) and plan.batch == 1 else ()
    if listed:
        return FiniteProfile(listed, f"drawn at rate {float(rate):.6g}, whatever the others hold", all_pairs=True)
    if plan.batch == 1 or not isinstance(whole, ShuffleProfile):
        return SubsampledProfile(whole, rate, plan.batch == 1)
    needed = whole.bound.needs_epsilon0
    own = _sampled(whole.bound, whole.local.epsilon(0).high, plan.users) if needed else whole.bound.sampled(plan.users)
    if own is None:
        return SubsampledProfile(whole, rate, tight=False)
    # What holds of any plan is attained at delta = 0, where all views are the one with the largest ratio; and few reports hide
    # little more.
    return ShuffleProfile(plan, SubsampledProfile(whole if needed and plan.batch <= _FEW else whole.local, rate, tight=True), own)


def _listed(m: Mechanism, rate: Fraction) -> tuple[ExactPLD, ...]:
    """All pairs of laws of one user who is drawn at this rate, and else another one, if they are few.

    Where the others hold several values that one's law is a mixture of these, and no divergence is larger.
    """
    laws = tabulated(m, _FEW_INPUTS * _FEW_VIEWS) or {}
    rows = list(dict.fromkeys(tuple(law.values()) for law in laws.values())) if len(laws) <= _FEW_INPUTS else []
    if len(rows) < 2 or len(rows[0]) > _FEW_VIEWS:
        return ()
    pairs = product(permutations(rows, 2), rows)
    mixed = ([[rate * p + (1 - rate) * q for p, q in zip(row, other, strict=True)] for row in two] for two, other in pairs)
    return tuple(dict.fromkeys(ExactPLD.of(zip(first, second, strict=True)) for first, second in mixed))


def of_participants(plan: Poisson, neighbours: Neighbours | None = None) -> PrivacyProfile:
    r"""Profile of a plan that a user runs with some probability, and of nothing else: :math:`q\, \delta(\varepsilon)`, tight.

    In nats. As rigorous as the plan's own. Raises Unsupported for another relation than replace-one, and for a plan that is not of
    one user.
    """
    if neighbours not in (None, REPLACE_ONE):
        raise Unsupported(plan, f"users who may take part need replace-one neighbours, not {neighbours}")
    for node in nodes(plan.plan):
        if isinstance(node, Shuffle | Subsample | Aggregate) or (isinstance(node, Run) and of_many_users(node)):
            raise Unsupported(plan, f"users take part one by one, each with a report of their own, but {node} is of all users")
    if plan.normal != plan:
        return account(plan.normal, neighbours)
    inner = account(plan.plan, REPLACE_ONE)
    if isinstance(inner, FiniteProfile):
        source = f"{inner.source}; with probability {float(plan.rate):.6g}"
        return replace(inner, pairs=tuple(each.part(plan.rate) for each in inner.pairs), source=source)
    return NamedSample(inner, plan.rate)


def _sampled(bound: Bound, epsilon0: float, users: int) -> BlanketBound:
    """Of a secret sample of these users, from the shuffle of those who are drawn and epsilon0 of one report."""
    rate = Fraction(bound.users, users)
    types, alike = bound.known
    exact = tuple(each for each in alike if each.blanket.silence == 0)
    with working_precision(precision(users)):
        replaced = (types or of_any_map(ball(Fraction(epsilon0)))).drawn(rate)
        sets = tuple(replace(each, blanket=each.blanket.drawn(rate)) for each in exact)
    return BlanketBound((), sets, bound.users, finest=max(bound.finest, FINE), replaced=replaced, drawn_from=users)
