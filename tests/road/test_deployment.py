"""A deployment file says what it may, or the error says where it does not."""

import re
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ldpaudit import Aggregate, Compose, Guarantee, Poisson, Repeat, Run, Shuffle, account
from ldpaudit.certificates.certify import certify, units
from ldpaudit.core.expression import parse
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import load, loads
from ldpaudit.mechanisms import DiscreteLaplace, KaryRandomizedResponse, PolyaNoise, UnaryEncoding
from ldpaudit.verdict import Outcome
from tests.helpers import raises, raises_a_line, typed

GOOD = """\
schema = "ldpaudit.deployment/1"
id = "example"

[mechanism]
kind = "randomized_response"
k = 4
p = "1/2"

[contribution]
reports = 3

[shuffle]
users = 1_000

[[claims]]
id = "one"
epsilon = "2.05"
view = "local"
expect = "holds"

[[claims]]
id = "day"
epsilon = "?"
delta = "1e-6"
unit = "user-day"
"""


def test_a_claims_unit_and_view_say_which_plan_it_is_about_which_may_be_a_guarantee() -> None:
    one, day = loads(GOOD).claims
    assert isinstance(one.plan, Run)
    assert one.epsilon == Fraction(41, 20)
    assert typed(Shuffle, day.plan).plan == Repeat(one.plan, 3)
    assert (day.epsilon, day.delta) == (None, Fraction(1, 10**6))
    text = GOOD.replace('kind = "randomized_response"\nk = 4\np = "1/2"', 'kind = "guarantee"\nepsilon = 4')
    assert loads(text).plan == Guarantee(Fraction(4))


def test_each_report_may_be_shuffled_in_a_round_of_its_own() -> None:
    together = GOOD.replace("users = 1_000", "users = 10_000_000")
    text = together.replace("users = 10_000_000", 'users = 10_000_000\nper = "report"')
    one, day = loads(text).claims
    assert day.plan == Repeat(Shuffle(one.plan, 10**7), 3)
    assert account(day.plan).epsilon(1e-6).high < account(loads(together).claims[1].plan).epsilon(1e-6).high
    kept = text.replace("reports = 3", "reports = 3\nmemoized = true")
    rappor = 'kind = "rappor"\nbits = 16\nhashes = 1\nf = 0.5\np = 0.25\nq = 0.75'
    kept = kept.replace('kind = "randomized_response"\nk = 4\np = "1/2"', rappor)
    raises(DeploymentError, "needs fresh answers", loads, kept)


def test_a_report_or_a_part_may_be_sent_with_some_probability() -> None:
    once = loads(GOOD.replace("reports = 3", 'reports = 3\nrate = "1/10"'))
    whole = loads(COMPOSED.replace("times = 2", "times = 2\nrate = 0.5"))
    sent = Poisson(once.plan, Fraction(1, 10))
    assert [claim.plan for claim in once.claims] == [sent, Shuffle(Repeat(sent, 3), 1000)]
    bits = Poisson(UnaryEncoding.flips(Fraction(1, 4), 3), Fraction(1, 2))
    assert whole.plan.parts[1] == Shuffle(Compose([Repeat(bits, 2), Guarantee(Fraction(1))]), 50)


SUMMED = """\
schema = "ldpaudit.deployment/1"
id = "example"

[mechanism]
kind = "unary_encoding"
k = 4
rho = "1/100"

[contribution]
reports = 3

[aggregate]
users = 1_000
modulus = "2**32"

[[claims]]
id = "report"
sees = "report"
epsilon = "?"

[[claims]]
id = "sum"
epsilon = "?"
delta = "1e-6"

[[claims]]
id = "colluders"
sees = "share"
honest_clients = 10
epsilon = "?"
delta = "1e-6"
unit = "user-day"
"""


def test_a_claim_says_whom_a_user_of_secure_aggregation_trusts() -> None:
    report, whole, colluders = (claim.plan for claim in loads(SUMMED).claims)
    assert isinstance(report, Run)
    assert (whole, colluders) == (Aggregate(report, 1000), Aggregate(Repeat(report, 3), 10))


NOISE = """\
[[noise]]
kind = "discrete_laplace"
alpha = "9/10"
parties = 2
"""


def test_honest_aggregators_noise_is_added_to_the_sum() -> None:
    text = SUMMED.replace("[[claims]]", NOISE + "\n[[claims]]", 1)
    added = DiscreteLaplace(Fraction(9, 10))
    report, whole, colluders = (claim.plan for claim in loads(text).claims)
    assert isinstance(report, Run)
    assert whole == Aggregate(report, 1000, [added])
    assert colluders == Aggregate(Repeat(report, 3), 10, [added])
    for count in (0, 2):
        found = loads(text.replace("honest_clients = 10", f"honest_clients = 10\nhonest_aggregators = {count}")).claims[2].plan
        assert found == Aggregate(Repeat(report, 3), 10, [added] * count)


def refused(text: str, old: str, new: str, key: str, says: str) -> DeploymentError:
    """A file is refused once one thing in it is replaced."""
    assert old in text
    caught = raises(DeploymentError, re.escape(says), loads, text.replace(old, new), "file.toml")
    assert caught.key == key
    return caught


SHARES = NOISE.replace("parties = 2", 'by = "client"\nparties = 1_200')


def test_honest_clients_shares_of_noise_are_added_to_the_sum() -> None:
    text = SUMMED.replace("[[claims]]", SHARES + "\n" + NOISE + "\n[[claims]]", 1)
    whole = DiscreteLaplace(Fraction(9, 10))
    seen, summed, colluders = (claim.plan for claim in loads(text).claims)
    assert isinstance(colluders, Aggregate)
    report, parts = colluders.plan.plan, [PolyaNoise(whole.alpha, Fraction(n, 1200)) for n in (1, 1000, 10)]  # type: ignore[attr-defined]
    assert seen == Aggregate(report, 1, [parts[0]])
    assert summed == Aggregate(report, 1000, [parts[1], whole])
    assert colluders == Aggregate(Repeat(report, 3), 10, [parts[2], whole])


def test_reports_are_left_out_of_sums_and_are_seen_as_they_are() -> None:
    claims = loads(SUMMED.replace("users = 1_000", "users = 1_000\nmost_ones = 9")).claims
    without = loads(SUMMED).claims
    assert claims[0].plan == without[0].plan
    for claim, other in zip(claims[1:], without[1:], strict=True):
        assert isinstance(claim.plan, Aggregate)
        assert (claim.plan.most_ones, replace(claim.plan, most_ones=None)) == (9, other.plan)


@pytest.mark.few(2)
@pytest.mark.parametrize("noise", [
    '"polya_noise"\nalpha = "9/10"\nshape = "1/2"', '"skellam"\nmu = 20', '"binomial_noise"\ncoins = 120',
    '"discrete_gaussian"\nsigma = 40',
])  # fmt: skip
def test_fewer_honest_clients_than_designed_cost_more(noise: str) -> None:
    shares = SHARES.replace('"discrete_laplace"\nalpha = "9/10"', noise).replace("1_200", "60")
    text = SUMMED.replace("[[claims]]", shares + "\n[[claims]]", 1).replace("1_000", "60").replace('unit = "user-day"', "")
    for old, new in (("1/100", "1/3"), ('"report"\nsees = "report"', '"some"\nhonest_clients = 40')):
        text = text.replace(old, new)
    some, all_, few = (account(claim.plan).epsilon(1e-6) for claim in loads(text).claims)
    assert few.low > some.high > some.low > all_.high > 0


@pytest.mark.parametrize(("mechanism", "least"), [
    ('kind = "one_bit"\nlow = "1/4"\nhigh = "3/4"\nreports = 3', 3000),
    ('kind = "count_mean_sketch"\nvariant = "hadamard"\nwidth = 4\nhashes = 2\np = "3/4"', 2000),
    ('kind = "geometric"\nvariant = "truncated"\nbound = 7\nalpha = "1/2"', 7000),
    ('kind = "geometric"\nbound = 7\nalpha = "1/2"', 7000 + 2 * 46 * 64),  # the noise of all has the variance 4000
])  # fmt: skip
def test_a_modulus_leaves_room_for_all_numbers_that_reports_add(mechanism: str, least: int) -> None:
    text = SUMMED.replace('kind = "unary_encoding"\nk = 4\nrho = "1/100"', mechanism)
    refused(text, '"2**32"', str(least), "aggregate.modulus", f"needs a modulus above {least}: ")
    assert loads(text.replace('"2**32"', str(least + 1))).claims


@pytest.mark.parametrize(("mechanism", "relation"), [
    ('kind = "randomized_response"\nk = 4\np = "1/2"', "replace-one"),
    ('kind = "trie_heavy_hitter"\nusers = 10000\nbatch = 100\nthreshold = 10\nlevels = 1', "add-remove"),
    ('kind = "guarantee"\nepsilon = 4', "replace-one"),
])  # fmt: skip
def test_a_claim_is_about_the_mechanism_s_usual_neighbours_unless_it_names_others(mechanism: str, relation: str) -> None:
    text = GOOD.replace('kind = "randomized_response"\nk = 4\np = "1/2"', mechanism)
    assert {claim.neighbours.kind for claim in loads(text).claims} == {relation}
    named = loads(text.replace('id = "one"', 'id = "one"\nneighbours = "replace-one"')).claims
    assert [claim.neighbours.kind for claim in named] == ["replace-one", relation]


def test_a_file_without_claims_is_told_how_one_is_written_and_one_of_two_constructors_must_be_named() -> None:
    raises(DeploymentError, r"claims: needs at least one table \[\[claims\]\]", loads, GOOD.partition("[[claims]]")[0])
    with pytest.raises(DeploymentError, match=r"claims: needs double brackets, \[\[claims\]\], got \[claims\]"):
        loads(GOOD.partition("[[claims]]")[0] + '[claims]\nid = "one"\n')
    table = 'kind = "unary_encoding"\nk = 4\nepsilon = 1'
    text = GOOD.replace('kind = "randomized_response"\nk = 4\np = "1/2"', table)
    raises(DeploymentError, "needs constructor = one of", loads, text)
    symmetric, optimized = (
        loads(text.replace("epsilon = 1\n", f'epsilon = 1\nconstructor = "{name}"\n', 1)).plan
        for name in ("symmetric", "optimized")
    )
    assert symmetric != optimized
    raises(DeploymentError, "got 'best'", loads, text.replace("epsilon = 1\n", 'epsilon = 1\nconstructor = "best"\n', 1))


def test_broken_toml_names_the_line_at_once_and_a_byte_order_mark_changes_nothing() -> None:
    raises(DeploymentError, r"file\.toml:2: needs TOML", loads, "a = 1\nb = \n", "file.toml")
    refused = raises(DeploymentError, r"file\.toml:1: needs TOML", loads, f"p = 3{'/' * 1_000_000}!\n", "file.toml")
    assert "expression" not in str(refused)
    assert replace(loads(f"\ufeff{GOOD}", "file.toml"), text=GOOD) == loads(GOOD)
    with pytest.raises(DeploymentError, match=r"^file\.toml:1: schema: needs"):
        loads(f"\ufeff{GOOD}".replace("deployment/1", "deployment/3"), "file.toml")


def test_an_expression_without_quotes_is_said_to_need_them_and_no_other_mistake() -> None:
    for line in ("p = 3/4", "epsilon = log(3)  # nats", "p = 2/(1 + exp(8))"):
        refused = raises(DeploymentError, r"file\.toml:2: needs TOML", loads, f"a = 1\n{line}\n", "file.toml")
        value = line.split("#")[0].split("=")[1].strip()
        assert str(refused).endswith(f'; an expression stands in quotes: "{value}"')
    for line in ("b = ", "b = [1, 2", "b = a/b", "b = 1 # 3/4", 'b = "3/4', "b = log"):
        refused = raises(DeploymentError, r"file\.toml", loads, f"a = 1\n{line}\nc = = 2\n", "file.toml")
        assert "expression" not in str(refused)


def test_an_unreadable_file_is_an_error_of_the_users(tmp_path: Path) -> None:
    raises(DeploymentError, "readable file", load, tmp_path / "nothing.toml")
    raises(DeploymentError, "readable file", load, tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"id = '\xff'")
    raises(DeploymentError, "UTF-8", load, tmp_path / "latin.toml")
    (tmp_path / "large.toml").write_text("# " + "x" * (1 << 20))
    raises(DeploymentError, "at most 1048576 bytes", load, tmp_path / "large.toml")
    raises(DeploymentError, "TOML", loads, "a = " + "[" * 10_000)


def test_a_rational_expression_is_exact_and_a_transcendental_one_the_nearest_of_256_bits() -> None:
    exact = {"2.05": Fraction(41, 20), "1/3": Fraction(1, 3), "-(1+2)*3**2": Fraction(-27), "1_000": Fraction(1000)}
    assert {text: parse(text) for text in exact} == exact
    assert (parse("1e-6"), parse("2**-3")) == (Fraction(1, 10**6), Fraction(1, 8))
    assert abs(parse("exp(1)*exp(-1)") - 1) < Fraction(1, 2**250)
    assert abs(parse("log(2)**2") - parse("ln(2)") ** 2) < Fraction(1, 2**250)


@pytest.mark.parametrize("text", [
    "", "x", "1 if 1 else 2", "(1).real", "__import__('os')", "exp", "exp(1, 2)", "1/0", "log(0)", "log(-1)", "2**0.5",
    "0x0", "0b1", "1e999999999", "1e-999999999",
    "9**9**9", "10**10000", "True", "'1'", "[1]", "1;2", "1" * 300, "exp(exp(exp(exp(9))))", "(" * 150, "1j",
    "1if 1 else 2", "0.172inf", "inf0.172inf", "x1.5y", "1e5.5e", "1inf", "0inf**-1", "1e40inf96", "(0.70inf9)**6", "2x", ".5e",
])  # fmt: skip
def test_anything_else_is_refused_and_is_not_warned_of_too(text: str) -> None:
    kinds = "needs an? (number|finite number|integer exponent|expression)"
    with warnings.catch_warnings(record=True, action="always") as said, pytest.raises(ValueError, match=kinds):
        parse(text)
    assert not said


@given(st.text(alphabet="0123456789.+-*/()explogsqrt ", max_size=40))
def test_no_text_does_more_than_raise_a_value_error(text: str) -> None:
    try:
        parse(text)
    except ValueError as error:
        assert "needs" in str(error)  # noqa: PT017 - both outcomes are fine


@pytest.mark.parametrize("given_id", [
    "../evil", "a/b", "a\\\\b", "..", ".", "a..b", "", "-a", "a.", "a ", "CON", "nul.txt", "Com1", "lpt² .x", "a\\u001b[31m",
    "a\\u202Eb", "a\\nb", "x" * 201, "é" * 101, "a:b", "a|b", "[red]x", "`a`", "<a>",
])  # fmt: skip
@pytest.mark.parametrize("key", ["example", "one"])
def test_an_id_is_a_file_name_on_every_system(key: str, given_id: str) -> None:
    caught = raises(DeploymentError, "", loads, GOOD.replace(f'id = "{key}"', f'id = "{given_id}"'), "file.toml")
    assert caught.key == ("id" if key == "example" else "claims.0.id")
    assert str(caught).isprintable()


def test_words_of_any_language_are_ids() -> None:
    for words in ("a", "one report", "rappor-chrome.v2", "naïve_3 (eps=1)", "консоль", "concert", "com10"):
        assert loads(GOOD.replace('id = "example"', f'id = "{words}"')).id == words


@pytest.mark.parametrize("deep", ["x = " + "[" * 3000 + "]" * 3000, "x" + ".x" * 3000 + " = 1", "x = " + "9" * 5000])
def test_what_is_nested_or_long_beyond_reason_is_an_error_of_one_line(deep: str) -> None:
    assert len(str(raises(DeploymentError, "TOML", loads, deep + "\n" + GOOD, "file.toml"))) < 200


CITED = """\
schema = "ldpaudit.deployment/2"
id = "cited"
[status]
state = "retired"
date = "2023-09-18"
source = "readme"
[[sources]]
id = "readme"
title = "README"
url = "https://example.org/readme"
commit = "e44603b"
date = "2023-09-18"
accessed = "2026-11-23"
quote = "epsilon is 1"
supports = ["status", "one"]
[mechanism]
kind = "randomized_response"
k = 4
p = "1/2"
[[claims]]
id = "one"
epsilon = 1
expect = "refuted"
[[claims]]
id = "asked"
epsilon = "?"
"""


def test_a_source_is_read_whole_and_is_a_text_in_the_first_edition_only() -> None:
    whole = loads(CITED)
    assert whole.sources == ("README, https://example.org/readme, at e44603b of 2023-09-18",)
    assert (whole.cited[0].quote, whole.cited[0].supports) == ("epsilon is 1", ["status", "one"])
    assert str(whole.status) == "The file described a system that ended on 2023-09-18."
    assert loads(GOOD.replace("[mechanism]", 'sources = ["a", "b"]\n[mechanism]', 1)).sources == ("a", "b")
    with pytest.raises(DeploymentError, match=r"needs a table \[\[sources\]\], got 'a'"):
        loads(GOOD.replace("deployment/1", "deployment/2").replace("[mechanism]", 'sources = ["a"]\n[mechanism]', 1))
    raises(DeploymentError, "status: needs schema", loads, f'{GOOD}[status]\nstate = "unknown"\n')
    second = GOOD.replace("deployment/1", "deployment/2")
    assert loads(f'{second}[status]\nstate = "example"\n').claims == loads(GOOD).claims
    raises(DeploymentError, r"'one' needs a table in \[\[sources\]\]", loads, f'{second}[status]\nstate = "unknown"\n')


@pytest.mark.parametrize(("old", "new", "said"), [
    ('"status", "one"', '"status", "mechanism"', "deployment:20: claims.0: 'one' needs a table in [[sources]]"),
    ('quote = "epsilon is 1"', "", "nobody is refuted for what they did not say"),
    ('quote = "epsilon is 1"', 'quote = "  "', "'one' needs a source with a quotation that supports it"),
    ('"epsilon is 1"', f'"{"word " * 26}"', "needs at most 25 words, got 26"),
    ('"epsilon is 1"', '"epsilon ... 1"', "needs words that follow each other in the source"),
    ('"status", "one"', '"one"', "'retired' needs the id of a source that supports 'status', got 'readme'"),
    ('source = "readme"\n', "", "'retired' needs the id of a source that supports 'status', got None"),
    ('"status", "one"', '"status", "oen"', "got 'oen'; did you mean 'one'?"),
    ('url = "https://example.org/readme"', 'url = "page 3"', "sources.0.url"),
    ('accessed = "2026-11-23"', "", "sources.0.accessed: is required"),
    ('accessed = "2026-11-23"', "accessed = 2026-11-23", "sources.0.accessed: needs text in quotes, got 2026-11-23"),
    ("[[claims]]", "[[claim]]", "claim: is not a key that is known here"),
    ('commit = "e44603b"', 'commit = "main"', "sources.0.commit"),
    ("deployment/2", "deployment/1", "a table of a source needs schema = \"ldpaudit.deployment/2\""),
])  # fmt: skip
def test_nothing_is_claimed_without_a_source_and_nobody_is_refuted_without_a_quotation(old: str, new: str, said: str) -> None:
    assert old in CITED
    raises_a_line(DeploymentError, re.escape(said), loads, CITED.replace(old, new))


@pytest.mark.parametrize(("told", "key", "said"), [
    ("parties = 2\ncolluding = 3", "aggregator.colluding", "needs colluding <= parties, 2, got 3"),
    ("minimum_batch = 999", "aggregator.minimum_batch", "needs minimum_batch >= the users of [aggregate], 1000, got 999"),
    ('noise = "none"', "aggregator.noise", 'needs no [[noise]] by aggregators for noise = "none"'),
    ('noise = "once"', "aggregator.noise", "'once' does not fit a table [[noise]] of 2 parties"),
    ('parties = 3\nnoise = "each"', "aggregator.noise", "'each' does not fit a table [[noise]] of 2 parties"),
])  # fmt: skip
def test_what_is_said_of_aggregators_fits_the_sum_and_its_noise(told: str, key: str, said: str) -> None:
    text = SUMMED.replace("deployment/1", "deployment/2").replace("[[claims]]", f"{NOISE}\n[[claims]]", 1)
    text += '[status]\nstate = "example"\n[aggregator]\n'
    assert loads(f'{text}parties = 2\ncolluding = 1\nnoise = "each"\nminimum_batch = 1000').units
    refused(text, "[aggregator]", f"[aggregator]\n{told}", key, said)
    with pytest.raises(DeploymentError, match=r'needs \[\[noise\]\] by aggregators for noise = "each"'):
        loads(f'{text}noise = "each"'.replace(NOISE, ""))


def test_what_a_deployer_assumes_is_told_with_its_source_and_no_claim_is_more_than_assumed() -> None:
    row = '[[assumes]]\nwhat = "each report has coins of its own"\nsource = "readme"\n'
    text = CITED.replace("epsilon = 1\nexpect = \"refuted\"", "epsilon = 2") + row
    whole = certify(loads(text), trials=100)
    assert [claim.verdict for claim in whole.claims] == [Outcome.ASSUMED] * 2
    assert whole.claims[0].assumptions == whole.units[0].assumptions == ("each report has coins of its own (README)",)
    assert whole.claims[0].reason.endswith(", assuming that each report has coins of its own (README)")
    refused(text, row, row.replace("readme", "other"), "assumes.0.source", "needs the id of a source, got 'other'")
    refused(GOOD, "[mechanism]", f"{row}[mechanism]", "assumes", 'needs schema = "ldpaudit.deployment/2"')


COMPOSED = """\
schema = "ldpaudit.deployment/1"
id = "composed"

[[compose]]
times = 3
shuffle = {users = 100, per = "report"}
[compose.mechanism]
kind = "randomized_response"
k = 2
p = "3/4"

[[compose]]
shuffle = {users = 50}
[[compose.compose]]
times = 2
[compose.compose.mechanism]
kind = "unary_encoding"
k = 3
rho = "1/4"
[[compose.compose]]
[compose.compose.mechanism]
kind = "guarantee"
epsilon = 1

[[claims]]
id = "report"
epsilon = "?"
delta = "1e-3"
"""
DEEP = "compose = [{compose = [{compose = [{compose = []}]}]}]"
PROMISED = '[compose.compose.mechanism]\nkind = "guarantee"\nepsilon = 1\n'


def test_a_composition_is_its_parts_and_a_certificate_has_them_by_themselves() -> None:
    bit, bits = KaryRandomizedResponse(2, Fraction(3, 4)), UnaryEncoding.flips(Fraction(1, 4), 3)
    whole = loads(COMPOSED)
    bundle = Shuffle(Compose([Repeat(bits, 2), Guarantee(Fraction(1))]), 50)
    assert whole.plan == Compose([Repeat(Shuffle(bit, 100), 3), bundle])
    assert [each.plan for each in whole.parts] == [*whole.plan.parts]
    first, last = COMPOSED.index("[[compose]]\nshuffle"), COMPOSED.index("[[claims]]")
    report, part = units(loads(COMPOSED[:first] + COMPOSED[last:].replace("1e-3", "0")))
    assert (report.unit, part.unit) == ("report", "part 1")
    assert part.plan == "Repeat(Shuffle(KaryRandomizedResponse(k=2, p=3/4), users=100), 3)"
    assert part.enclosure == report.enclosure is not None


REFUSED: list[tuple[str, list[tuple[str, str, int | None, str, str]]]] = [
    (SUMMED.replace("[[claims]]", f"{SHARES}\n[[claims]]", 1), [
        ("parties = 1_200", "parties = 999", 0, "noise.0.parties", "needs parties >= the users of [aggregate], 1000"),
        ("parties = 1_200", "", 0, "noise.0.parties", "got 1"),
        ('"discrete_laplace"\nalpha = "9/10"', '"gaussian"\nsigma = 5', 0, "noise.0", "Gaussian is not shared among clients"),
        ('"discrete_laplace"\nalpha = "9/10"', '"rounded_gaussian"\nsigma = 5', 0, "noise.0", "is not shared among clients"),
        ('"discrete_laplace"\nalpha = "9/10"', '"binomial_noise"\ncoins = 600', 0, "noise.0", "needs a multiple of 1200, got 600"),
        ('"client"', '"server"', 0, "noise.0.by", "client"),
    ]),
    (SUMMED.replace("[[claims]]", f"{NOISE}\n[[claims]]", 1), [
        ('"9/10"', '"11/10"', 0, "noise.0.alpha", "needs 0 < alpha < 1"),
        ("alpha", "alfa", 0, "noise.0.alfa", "did you mean 'alpha'?"),
        ('"discrete_laplace"\nalpha = "9/10"', '"randomized_response"\nk = 3\np = 0.5', 0, "noise.0.kind", "needs noise on counts"),
        ('"2**32"', "3576", 0, "aggregate.modulus", "the least, 1000, and noise that spreads over 2576; where"),
        ("parties = 2", "parties = 0", 0, "noise.0.parties", "greater than or equal to 1"),
        ("honest_clients = 10", "honest_aggregators = 3", 0, "claims.2", "<= the parties of [[noise]], 2, got 3"),
    ]),
    (SUMMED, [
        ("reports = 3", "rate = 0.5", 10, "contribution.rate", "needs reports that are not summed"),
        ("[aggregate]", "[shuffle]\nusers = 9\n[aggregate]", 14, "aggregate", "one of the tables [shuffle] and [aggregate]"),
        ('modulus = "2**32"', "modulus = 1000", 14, "aggregate.modulus", "above 1000: the largest sum less the least, 1000"),
        ('modulus = "2**32"', "", 26, "claims.2", 'needs a modulus in [aggregate]'),
        ("honest_clients = 10", "honest_clients = 1001", 26, "claims.2", "needs honest_clients <= the users of [aggregate], 1000"),
        ("users = 1_000", "users = 1_000\nmost_ones = 0", 14, "aggregate.most_ones", "greater than or equal to 1"),
        ("users = 1_000", "users = 1_000\nfresh_coins = false", 14, "aggregate.fresh_coins", "got False"),
        ('[aggregate]\nusers = 1_000\nmodulus = "2**32"\n', "", 13, "claims.0", "need a table [aggregate]"),
    ]),
    (GOOD, [
        ("k = 4", "k = 4\ncolour = 1", 7, "mechanism.colour", "got (k, colour, p)"),
        ('p = "1/2"', 'p = "3/2"', 7, "mechanism.p", "1/k <= p < 1, got p=3/2"),
        ('p = "1/2"', 'p = "half"', 7, "mechanism.p", "got 'half'"),
        ('p = "1/2"', "p = true", 7, "mechanism.p", "needs a number"),
        ('p = "1/2"', "p = nan", 7, "mechanism.p", "finite"),
        ("k = 4", "k = 4.5", 6, "mechanism.k", "needs an integer, got 4.5"),
        ("k = 4", 'k = "four"', 6, "mechanism.k", "needs an integer, got 'four'"),
        ('schema = "ldpaudit', '{"schema": "ldpaudit', None, "", "needs TOML, and this looks like JSON"),
        ("k = 4", "k = 1", 6, "mechanism.k", "k >= 2, got k=1"),
        ('"randomized_response"', '"randomised"', 5, "mechanism.kind", "got 'randomised'"),
        ("reports = 3", "reports = 0", 10, "contribution.reports", "greater than or equal to 1, got 0"),
        ("reports = 3", 'reports = "three"', 10, "contribution.reports", "got 'three'"),
        ("reports = 3", "reports = 3\nmemoized = true", 11, "contribution.memoized", "that memoizes, or a table [epochs]"),
        ("reports = 3", 'reports = 3\nrate = "3/2"', 11, "contribution.rate", "needs a probability above 0, got '3/2'"),
        ("reports = 3", "memoized = true\nrate = 0.5", 11, "contribution.rate", "needs answers that are not kept"),
        ("users = 1_000", "people = 5", 13, "shuffle.people", "is not a key"),
        ('id = "example"', "", None, "id", "is required"),
        ('epsilon = "2.05"', 'epsilon = "-1"', 17, "claims.0.epsilon", "needs epsilon >= 0, got epsilon=-1"),
        ('epsilon = "2.05"', 'epsilon = "__import__(1)"', 17, "claims.0.epsilon", "got '__import__(1)'"),
        ('delta = "1e-6"', "delta = 1.5", 24, "claims.1.delta", "needs 0 <= delta < 1"),
        ('unit = "user-day"', 'unit = "lifetime"', 21, "claims.1", "memoized = true"),
        ('unit = "user-day"', 'unit = "fortnight"', 25, "claims.1.unit", "got 'fortnight'"),
        ('id = "day"', 'id = "one"', 22, "claims.1.id", "'one' twice"),
        ("ldpaudit.deployment/1", "ldpaudit.deployment/3", 1, "schema", "needs 'ldpaudit.deployment/1'"),
        ("users = 1_000", "user = 1_000", 13, "shuffle.user", "did you mean 'users'?"),
        ("[shuffle]", "[shufle]", 12, "shufle", "did you mean 'shuffle'?"),
        ('unit = "user-day"', 'unti = "user-day"', 25, "claims.1.unti", "did you mean 'unit'?"),
        ("k = 4", "kk = 4", 6, "mechanism.kk", "got (kk, p); did you mean 'k'?"),
        ('"randomized_response"', '"randomised_response"', 5, "mechanism.kind", "did you mean 'randomized_response'?"),
        ('epsilon = "2.05"', "epsilon = inf", 17, "claims.0.epsilon", "needs a finite number, got inf"),
        ('epsilon = "2.05"', "epsilon = nan", 17, "claims.0.epsilon", "needs a finite number, got nan"),
        ('epsilon = "2.05"', 'epsilon = "-Infinity"', 17, "claims.0.epsilon", "needs a finite number, got '-Infinity'"),
        ('epsilon = "2.05"', 'epsilon = "8 nats"', 17, "claims.0.epsilon", "without a unit, such as 8: an epsilon is in nats"),
        ('epsilon = "2.05"', 'epsilon = "8bits"', 17, "claims.0.epsilon", "needs nats, such as '8*log(2)', got '8bits'"),
        ('delta = "1e-6"', 'delta = "1e-6 nats"', 24, "claims.1.delta", "without a unit, such as 1e-6"),
        ('p = "1/2"', 'p = "50 %"', 7, "mechanism.p", "needs a number without a unit, such as '50/100' for a share, got '50 %'"),
        ("k = 4", 'k = "4 values"', 6, "mechanism.k", "needs a number without a unit, such as 4, got '4 values'"),
        ("k = 4", "k = 2020-01-31", 6, "mechanism.k", "needs a number or an expression in quotes, got 2020-01-31"),
        ("k = 4", "k = nan", 6, "mechanism.k", ": needs a finite number, got nan"),
        ("users = 1_000", 'users = "1,000"', 13, "shuffle.users", "needs an integer, got '1,000'"),
        ("users = 1_000", "users = inf", 13, "shuffle.users", "needs an integer, got inf"),
        ("[mechanism]", "[[mechanism]]", 4, "mechanism", "needs single brackets, [mechanism], got [[mechanism]]"),
        ("[[claims]]", "[[claim]]", 15, "claim", "is not a key that is known here; did you mean 'claims'?"),
    ]),
    (COMPOSED, [
        ("[compose.mechanism]", "[mechanism]", 7, "mechanism", "got both"),
        (PROMISED, "", 20, "compose.1.compose.1.mechanism", "got none"),
        (PROMISED, DEEP, 21, "compose.1.compose.1.compose.0.compose.0.compose", "at most 4 levels"),
        ("rho =", "roh =", 19, "compose.1.compose.0.mechanism.roh", "did you mean 'rho'?"),
        ("times = 2", "times = 0", 15, "compose.1.compose.0.times", "greater than or equal to 1"),
        ("times = 2", "shuffle = {users = 9}", 15, "compose.1.compose.0.shuffle", "needs one shuffler"),
        ("[[claims]]", "[shuffle]\nusers = 9\n[[claims]]", 6, "compose.0.shuffle", "needs one shuffler"),
        ("[[claims]]", "[aggregate]\nusers = 9\n[[claims]]", 25, "aggregate", "[[compose]] has several"),
        ("[[claims]]", "[contribution]\nrate = 0.5\n[[claims]]", 0, "compose", "needs a rate for each shuffled part"),
        ("[[claims]]", "[contribution]\nmemoized = true\n[[claims]]", 26, "contribution.memoized", "a mechanism that memoizes"),
    ]),
]  # fmt: skip
"""Of files, what is replaced in them, and what the error says: its line, where it is not 0, its key, and words."""


@pytest.mark.parametrize(("text", "row"), [(text, row) for text, rows in REFUSED for row in rows])
def test_an_error_names_file_line_key_what_was_required_and_what_was_found(
    text: str, row: tuple[str, str, int | None, str, str]
) -> None:
    old, new, line, key, says = row
    error = refused(text, old, new, key, says)
    assert error.file == "file.toml"
    assert line in (0, error.line)
    assert "\n" not in str(error)
