r"""The field's published bounds of a plan, beside the certified value: what people would otherwise cite.

A plan is matched by its shape: `Shuffle` to the theorems of shuffling, `Repeat` and `Compose` to those of composition,
`Subsample` to amplification by subsampling, TrieHH and the shuffled count-min sketch to those of their papers. So is a
profile that is no plan's: a count with binomial noise, and a sample by coins with a threshold. Every theorem is applied to
what is certified of the parts, rounded toward what the theorem allows; one whose hypotheses are not met is a row that says
which.

Reading order: `theorem` (a bound beside the certified value), `composed`, `shuffled`, `sampled`, `counted`, `own`.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from ldpaudit.accountants.claims.published.composed import composed, grouped
from ldpaudit.accountants.claims.published.counted import binomial_count, count_min
from ldpaudit.accountants.claims.published.own import Bound as Bound, own
from ldpaudit.accountants.claims.published.sampled import sampled_by_coins, subsampled, trie
from ldpaudit.accountants.claims.published.shuffled import shuffled
from ldpaudit.accountants.claims.published.theorem import Published as Published
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.sampling.thresholded import PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure
from ldpaudit.groups import of_one_user
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Compose, Plan, Repeat, Run, Shuffle, Subsample, names_users
from ldpaudit.profile import PrivacyProfile, require_delta


def published(
    subject: Plan | PrivacyProfile,
    delta: Fraction,
    certified: Enclosure,
    neighbours: Neighbours | None = None,
    bounds: Sequence[Bound] = (),
) -> tuple[Published, ...]:
    """The published bounds on a plan's epsilon at delta, beside what is certified of it.

    ``subject``: what is deployed, or the profile of noise that is no mechanism of ours; ``delta``: in [0, 1);
    ``certified``: of epsilon at delta; ``neighbours``: the relation of `certified`; by default each mechanism's usual
    one; ``bounds``: more of them, as `own` says. Returns the smallest bound first, those whose hypotheses are not met last;
    empty where none is on record for this plan.
    """
    require_delta(delta)
    sentence = f"epsilon at delta={float(delta):g}"
    mine = own(bounds, subject, delta) if isinstance(subject, Plan) else ()
    found = [each.beside(certified, sentence) for each in (*_theorems(subject, delta, neighbours), *mine)]
    return tuple(sorted(found, key=lambda p: math.inf if p.printed is None else p.printed.claimed))


def _theorems(subject: Plan | PrivacyProfile, delta: Fraction, neighbours: Neighbours | None) -> Iterator[Published]:
    if isinstance(subject, Plan) and neighbours is not None and neighbours.kind == "group":
        yield from grouped(subject, neighbours.users, delta)
        runs, relation = of_one_user(subject, neighbours)
        yield from _theorems(runs, delta, relation)
        return
    match subject:
        case Shuffle() | Subsample() if names_users(subject):
            return  # the theorems are of reports that name nobody
        case Shuffle(inner, users):
            yield from shuffled(inner, users, delta, neighbours)
        case Repeat() | Compose():
            yield from composed(subject, delta, neighbours)
        case Subsample():
            yield from subsampled(subject, delta)
        case Run(TrieHeavyHitter(counts=0) as m):
            yield from trie(m, delta, neighbours or ADD_REMOVE)
        case Run(m) if type(m) is ShuffledCountMin:
            yield from count_min(m, delta, neighbours or REPLACE_ONE)
        case ShiftProfile():
            yield from binomial_count(subject, delta)
        case ThresholdProfile(sampling=PoissonBatch()):
            yield from sampled_by_coins(subject, delta)
