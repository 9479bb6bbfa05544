"""Every numbered statement of the sources: what it says, and where no row of ours is about it, why not.

A statement is a theorem, lemma, corollary, proposition, claim, fact, assumption, table or figure, or an equation, a section or an
appendix without numbered statements that a row names; a slide of a talk; and what a talk says of the two papers that it is about.
Definitions, algorithms and remarks are not in it. Statements that an appendix prints again are here once. Of DKY17, WBLJ17, WLJ18,
ACBX22 and LOLOHA only what is judged is here, as nobody has compared it with their texts.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_KINDS = "Theorem|Lemma|Corollary|Proposition|Claim|Fact|Assumption|Table|Figure"
_NAMED = re.compile(rf"(?:{_KINDS}) [A-Z\d.]*\d|Section \d|Appendix [A-Z]|\(\d+\)")
_O = "asymptotic, without constants"
_PROOF = "a step of a proof whose conclusion is asymptotic"
_SMALL = "a lower bound: `ldpaudit limit small_sample.error`"
_MIDDLE = "a lower bound: `ldpaudit limit intermediate.error`"
_LARGE = "a lower bound: `ldpaudit limit large_sample.error`"
_CASE = ("the text has lost its formula; its case, ln 2B > n q, needs domains of about e^60 at epsilon = 1 and delta = 1e-6, "
         "and the bounds that `GGKPV (15)` is judged by have no cases")
_OTHER_WORDS = "docs/discovery.md has it for other words, and for the batch that is certified for the same guarantee"
_WORDS = f"a plot of measurements on Sentiment140, which is public and is not bundled, without numbers in the text; {_OTHER_WORDS}"
_RECALLED = ("a plot of measurements on Sentiment140, which is public and is not bundled; the text has one number, recall near 1 "
             "of the top {} words at a single-digit epsilon; " + _OTHER_WORDS)
_CURVES = ("a plot whose settings the text has lost; `TRIEHH Proposition 1` is the formula of its curves, "
           "and docs/discovery.md has them at settings of our own, and for the certified batch")


@dataclass(frozen=True, slots=True)
class Statement:
    """A numbered statement of a source."""

    where: str  # source and number, or a slide's name, as rows give it
    says: str  # what it is about
    without: str = ""  # why no row is about it; empty where rows are

    @property
    def paper(self) -> str:
        """The source."""
        return re.split(r"[ ,]", self.where)[0]


def named(where: str) -> tuple[str, ...]:
    """The statements that a row's `where` names; none of a text that names none.

    Examples
    --------
    >>> named("GGKPV Lemma 4.10, Theorem 4.7"), named("STEMMER, warm-up")
    (('GGKPV Lemma 4.10', 'GGKPV Theorem 4.7'), ('STEMMER, warm-up',))
    """
    paper, _, rest = where.partition(" ")
    return (where,) if paper.endswith(",") else tuple(f"{paper} {each}" for each in _NAMED.findall(rest))


def gaps(register: Iterable[Statement], rows: Iterable[str]) -> Iterator[str]:
    """What does not fit between a register and the places that rows name, one sentence each.

    ``register``: what is numbered; ``rows``: the rows' `where`. Yields a statement with neither a row nor a reason, a
    reason beside a row, or a row of no statement.
    """
    reasons = {each.where: each.without for each in register}
    found: set[str] = set()
    for where in sorted(set(rows)):
        unknown = [each for each in named(where) if each not in reasons]
        found.update(named(where))
        if unknown or not named(where):
            yield f"a row is about {', '.join(unknown) or where}, which is no statement of the register"
    for where, reason in reasons.items():
        if (where in found) is bool(reason):
            yield f"{where} has {'a row, and a reason why it has none' if reason else 'neither a row nor a reason'}"


def _of(paper: str, entries: dict[str, str | tuple[str, str]]) -> tuple[Statement, ...]:
    """Statements of a source, in its order: by their name, what they say, or that and why there is no row."""
    found = []
    for name, entry in entries.items():
        says, without = (entry, "") if isinstance(entry, str) else entry
        found.append(Statement(f"{paper} {name}", says, without))
    return tuple(found)


HKR12 = _of("HKR12", {
    "Theorem 2.4": "Laplace noise of scale c/epsilon",
    "Theorem 2.5": "composition of T mechanisms",
    "Theorem 2.9": "random projections keep inner products",
    "Theorem 2.10": "tails of a sum of Laplace noises",
    "Lemma 3.1": "JL-HH is private",
    "Theorem 3.2": "JL-HH's error",
    "Theorem 3.3": "no local protocol finds the heavy hitter better",
    "Theorem 3.4": ("Berry-Esseen",
                    "a tool whose proof is cited, its constant not printed; `ldpaudit limit hsu.berry_esseen_failure` uses it"),
    "Lemma 3.5": ("a sum of coins is spread out", "a lower bound: `ldpaudit limit hsu.berry_esseen_failure`"),
    "Theorem 4.1": "GLPS-HH is private",
    "Theorem 4.2": "GLPS-HH's error",
    "Theorem 4.3": "Bucket is private",
    "Theorem 4.4": ("Bucket's running time", _O),
    "Lemma 4.5": "tails of sums of k-wise independent terms",
    "Lemma 4.6": "the heavy hitter is in the larger halves",
    "Lemma 4.7": "no other value agrees with it",
    "Theorem 4.8": "Bucket returns the heavy hitter",
})  # fmt: skip
NAIVE = Statement("HKR12, naive histogram", "the simpler algorithm that Section 3.1 compares JL-HH with is private")

STEMMER = tuple(Statement(f"STEMMER, {name}", says, without) for name, says, without in (
    ("local differential privacy", "the slide 'What is Local Differential Privacy?'", "a definition"),
    ("motivation", "the slides 'Why use LDP?' and 'Why solve under LDP?'", "it claims nothing of a mechanism"),
    ("histograms", "the slide 'Problem Statement: Histograms'", "a definition"),
    ("frequency oracles", "the slide 'Frequency Oracles'", "a definition"),
    ("hashtogram", "the slide 'Our Results'", ""),
    ("warm-up", "the slide 'LDP Warmup'", ""),
    ("large domains", "the slide 'Frequency Oracle for large domains'", ""),
    ("optimizations", "the slide 'Optimizations'", ""),
    ("summary", "the slide 'Summary'", _O),
    ("TreeHist", "its error (NIPS'17)", ""),
    ("Bitstogram", "its error (NIPS'17)", ""),
    ("optimal rate", "the error of heavy hitters, from both sides (PODS'18)",
     f"{_O}; `expander_sketch` is its system with constants of ours, and `ldpaudit limit` has the bounds from below"),
    ("advanced grouposition", "k changed users (PODS'18)", ""),
    ("GenProt", "from (epsilon, delta) to pure privacy (PODS'18)", ""),
))  # fmt: skip

GGKPV = _of("GGKPV", {
    "Section 1": "with public coins no estimate is below the truth",
    "Theorem 1.1": ("Theorems 3.1 and 3.4, informally", _O),
    "Theorem 1.2": ("Theorem 3.22, informally", _O),
    "Theorem 1.3": ("Theorems 4.1 and 4.2, informally", _O),
    "Corollary 1.4": ("Corollary B.1, informally", _O),
    "Table 1": ("error and communication in four models", f"{_O}; `ldpaudit table ggkpv-1` has its cells in numbers"),
    "Table 2": ("error, communication and time with several messages per user",
                f"{_O}; `ldpaudit table ggkpv-2` has its rows in numbers, but for the first, whose cells the text has lost"),
    "Lemma 2.1": ("post-processing", "a tool whose proof is cited; every mechanism is tested for it"),
    "Theorem 3.1": ("error of one message per user, (6) to (8)", _MIDDLE),
    "Corollary 3.2": ("constant error needs many users", _SMALL),
    "Theorem 3.3": ("error of local protocols, (9) to (13)", _MIDDLE),
    "Theorem 3.4": "what one message per user reaches, (14) to (16)",
    "(14)": ("very few users, by RAPPOR", _CASE),
    "(15)": "few users, by RAPPOR",
    "(16)": "many users, by k-ary randomized response",
    "Lemma 3.5": ("from shuffled to local privacy",
                  "a tool whose proof is cited: `ldpaudit limit shuffle.local_epsilon_as_printed`, beside `shuffle.local_epsilon`"),
    "Lemma 3.6": ("Fano's inequality", "a tool whose proof is cited"),
    "Fact 3.7": ("the hockey-stick divergence as a largest difference", "a tool whose proof is cited"),
    "Lemma 3.8": ("information of a private report", _SMALL),
    "Lemma 3.9": ("constant error needs many users", _SMALL),
    "Lemma 3.10": ("fewer users, more error", _LARGE),
    "Lemma 3.11": ("(6) and (9)", _SMALL),
    "Lemma 3.12": ("(10) and (11)", _MIDDLE),
    "Corollary 3.13": ("(7)", _MIDDLE),
    "Lemma 3.14": ("information of an accurate private report, (27)", _MIDDLE),
    "Lemma 3.15": ("an accurate protocol's reports are far from the average one", _MIDDLE),
    "Claim 3.16": ("Markov's inequality for a report's likelihood ratio", _PROOF),
    "Claim 3.17": ("an inequality about sums of products", _PROOF),
    "Lemma 3.18": ("(12) and (13)", _LARGE),
    "Lemma 3.19": "error of one message among many users, (8)",
    "Lemma 3.20": ("distance of histograms of mixtures", _PROOF),
    "Lemma 3.21": ("data processing inequality", "a tool whose proof is cited"),
    "Theorem 3.22": ("selection needs many users", "a lower bound: `ldpaudit limit selection.selection_users`"),
    "Lemma 3.23": ("selection by local protocols", "a lower bound: `ldpaudit limit selection.selection_success`"),
    "Lemma 3.24": ("information of a report in the hard instance",
                   "a lower bound: `ldpaudit limit selection.selection_success`"),
    "Fact 3.25": ("an inequality about real numbers", _PROOF),
    "Theorem 3.26": ("level-1 inequality", "a tool whose proof is cited"),
    "Theorem 4.1": "private coins: error, messages, bits",
    "Theorem 4.2": "public coins: error, messages, bits",
    "Theorem 4.3": "Algorithm 1 with its parameters",
    "Lemma 4.4": "Algorithm 1 is private",
    "Lemma 4.5": "Algorithm 1's error",
    "Lemma 4.6": "Algorithm 1's costs",
    "Theorem 4.7": "Algorithm 2 with its parameters",
    "Lemma 4.8": "Algorithm 2's error",
    "Lemma 4.9": "Algorithm 2's costs",
    "Lemma 4.10": "Algorithm 2 is private",
    "Lemma 4.11": "smooth noise hides sensitive answers",
    "Lemma 4.12": "binomial noise is smooth",
    "(67)": "Algorithm 1's error",
    "(71)": "one replaced element",
    "(72)": "a blanket is near its mean",
    "(75)": "how many messages are in kernels",
    "(76)": ("Algorithm 2's error", "the text has lost its formula; `GGKPV Lemma 4.8` is what it rests on"),
    "Theorem 5.1": "privacy of linear queries",
    "Theorem 5.2": "error and costs of linear queries",
    "Lemma 5.3": "the nodes that are counted",
    "Lemma 5.4": "sensitivity of a column",
    "Lemma 5.5": "a range has few coefficients",
    "Lemma 5.6": "sensitivity in d dimensions",
    "Lemma 5.7": "few coefficients in d dimensions",
    "Lemma 5.8": ("time to list them", _O),
    "Theorem 5.9": "range queries by Algorithm 1",
    "Theorem 5.10": "range queries by Algorithm 2",
    "Theorem A.1": ("amplification by shuffling",
                    f"{_O}; `ldpaudit account --compare` has the cited paper's bounds with constants"),
    "Corollary B.1": "sparse statistical queries",
    "Appendix D": "heavy hitters by prefixes",
    "Theorem E.1": "the median",
    "Figure 1": ("the shuffled model", "a picture, without numbers"),
    "Figure 2": ("the tree of range queries", "a picture, without numbers"),
})  # fmt: skip

JRUW18 = _of("JRUW18", {
    "Theorem 1.1": ("Theorem 4.3, informally", _O),
    "Theorem 1.2": ("Theorem 5.2, informally", _O),
    "Theorem 4.1": "THRESH is private",
    "Assumption 4.2": ("subgroups are large", "an assumption; a hypothesis of the rows of `JRUW18 Theorem 4.1`"),
    "Theorem 4.3": "THRESH's error",
    "Theorem 5.1": "HEAVYTHRESH is private",
    "Theorem 5.2": "HEAVYTHRESH's error",
})  # fmt: skip

TRIEHH = _of("TRIEHH", {
    "Figure 1": ("an example of a run", "a picture, without a claim"),
    "Theorem 1": "Algorithm 1 is private",
    "Corollary 1": "its numbers at theta = log10(n) + 6",
    "Table 1": "its numbers",
    "Proposition 1": "chance that a word is found",
    "Corollary 2": "the batch for a budget",
    "Figure 2": ("discovery by frequency", _CURVES),
    "Figure 3": ("discovery by population", _CURVES),
    "Figure 4": ("frequency by population at a discovery rate of 0.9", _CURVES),
    "Theorem 2": "Algorithm 3 is private",
    "Figure 5": ("discovery of one word per user", _WORDS),
    "Figure 6": ("recall of one word per user", _RECALLED.format(250)),
    "Figure 7": ("discovery of several words per user", _WORDS),
    "Figure 8": ("recall of several words per user", _RECALLED.format(350)),
    "Figure 9": ("recall by unit size", _WORDS),
    "Proposition 2": "chance of theta votes",
    "Lemma 1": "a prefix that many hold",
    "Lemma 2": "a prefix that few hold",
})  # fmt: skip

RECALLED = tuple(Statement(f"{paper}, {name}", says) for paper, name, says in (
    ("DKY17", "dBitFlip", "a report is private"),
    ("DKY17", "output perturbation", "no number of reports of a kept value spends more than the kept bits"),
    ("WBLJ17", "thresholding", "THE is private, as a function of histograms with Laplace noise"),
    ("WLJ18", "report", "a report of PEM is private"),
    ("ACBX22", "first report", "a first report spends its share"),
    ("ACBX22", "one value", "no number of reports of one value spends more than the memoized copy"),
    ("LOLOHA", "first report", "a first report spends its share"),
    ("LOLOHA", "one hash value", "no number of reports of one hash value spends more than the memoized answer"),
    ("LOLOHA", "lifetime", "a user spends as much as all memoized answers"),
))  # fmt: skip

STATEMENTS = (*HKR12, NAIVE, *STEMMER, *GGKPV, *JRUW18, *TRIEHH, *RECALLED)
"""The register, in the order of `literature.PAPERS`."""
