"""The engine: it stops when it knows, finds what leaks, and who works changes nothing."""

import json
import math
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import scale
from benchmarks.audit import CASES, RHO, any_time, fixed_used, guess_game, sequential_used
from ldpaudit import account, audit
from ldpaudit.adapters.logs import Log
from ldpaudit.adapters.programs import Program
from ldpaudit.attacks import Execution
from ldpaudit.attacks.bounds import nuisance
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import bound_of, level_test
from ldpaudit.attacks.engine import play, run as engine
from ldpaudit.attacks.engine.run import run
from ldpaudit.attacks.engine.work import State
from ldpaudit.attacks.games import k_inputs, two_inputs
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.sources import Planned
from ldpaudit.certificates.certificate import EvidenceRecord
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace
from ldpaudit.workers.experiment import Experiment
from tests.helpers import UnpluggedError, at_most, raises, same_on_a_cluster, some
from tests.zoo.randomized_response import TWENTY, the_lie_leaves_out_the_last_value

ALPHA = 1 - 0.95
BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)
OWN = np.random.default_rng(8)


def callable_of_one(x: int) -> int:
    """A callable with a source of randomness of its own."""
    return x if OWN.random() < float(BINARY.p) else 1 - x

HUNDRED = KaryRandomizedResponse.for_epsilon(1.0, k=100)
MODES = tuple(Mode)


def noise(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(size=size)


@pytest.mark.parametrize("mode", MODES)
def test_an_event_chosen_among_thousands_does_not_refute_what_leaks_nothing(mode: Mode) -> None:
    # Were the event chosen on the views that the bound sees, one of its 2,401 candidates would nearly always refute.
    runs = 150
    found = [run(Target((0, 1), "noise", noise), Experiment(400, seed=s, mode=mode)) for s in range(runs)]
    assert sum(e.epsilon_lower > 0 for e in found) <= runs * ALPHA + 3 * math.sqrt(runs * ALPHA * (1 - ALPHA))


class Counting:
    """Binary randomized response that counts what it is asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.asked += size
        return BINARY.sample(x, size, rng)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("claimed", [None, 0.5, 1.0])
def test_trials_are_the_views_that_were_drawn(mode: Mode, claimed: float | None) -> None:
    code = Counting()
    evidence = audit(BINARY, epsilon=claimed, implementation=code, trials=20_000, mode=mode)
    assert evidence.trials == code.asked
    stops = mode is Mode.SEQUENTIAL and claimed == 0.5
    assert (evidence.trials < 5_000) == stops
    assert (evidence.trials == 20_000) == (not stops)


def test_a_sequential_audit_stops_as_soon_as_the_claim_is_refuted() -> None:
    evidence = audit(BINARY, epsilon=0.9, seed=5)
    assert 0.9 < evidence.epsilon_lower < 0.95
    assert some(evidence.p_value) <= ALPHA
    assert evidence.trials < 20_000
    assert (evidence.mode, evidence.level) == (Mode.SEQUENTIAL, 1 - play.FINAL)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("m", [BINARY, HUNDRED, Laplace.for_epsilon(1.0)], ids=str)
def test_the_bound_can_be_computed_again_from_what_is_written_down(m: Any, delta: float, mode: Mode) -> None:
    evidence = audit(m, epsilon=0.9, delta=delta, trials=30_000, mode=mode)
    counts = Counts(evidence.right, evidence.guesses - evidence.right, evidence.measured)
    test = level_test(evidence.mode, evidence.inputs, delta, evidence.directions, evidence.level * (1 - 0.95), evidence.tuning)
    assert evidence.p_value == min(1.0, test.p_value(counts, 0.9) / evidence.level, 1.0 if evidence.epsilon_lower <= 0.9 else ALPHA)
    again = EvidenceRecord.model_validate_json(EvidenceRecord.of(evidence).model_dump_json()).read()
    assert again.epsilon_lower == evidence.epsilon_lower > 0
    assert bound_of(again) == evidence.epsilon_lower


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_p_value_and_the_bound_agree_on_what_is_refuted(mode: Mode, delta: float) -> None:
    seen = set()
    for claimed in np.linspace(0.8, 1.0, 6):
        e = audit(BINARY, epsilon=float(claimed), delta=delta, trials=20_000, mode=mode)
        assert e.p_value is not None
        refuted = e.epsilon_lower > claimed
        assert e.p_value <= ALPHA * (1 + 1e-9) if refuted else e.p_value >= ALPHA * (0.9 if delta else 1)
        seen.add(refuted)
    assert seen == {True, False}


def test_a_p_value_found_from_above_does_not_contradict_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Planned(KaryRandomizedResponse.for_epsilon(1.0, k=5))
    state = State(1, k_inputs.SubsetRule(tuple(range(5))), 5, (), 120_000, 1, Counts(53_649, 53_652, 107_658))
    job = play.Job(source, Experiment(120_000, 1 - ALPHA, 0, 0.001, None, Mode.FIXED))
    bound = engine.evidence(job, state).epsilon_lower

    def claiming(epsilon: float) -> play.Job:
        return replace(job, experiment=replace(job.experiment, epsilon=epsilon))

    monkeypatch.setattr(nuisance.NuisanceTest, "p_value", lambda *_: 1.02 * job.experiment.alpha)
    monkeypatch.setattr(nuisance.NuisanceTest, "epsilon_lower", lambda *_: bound)
    assert engine.evidence(claiming(bound * (1 - 1e-6)), state).p_value == job.experiment.alpha
    assert engine.evidence(claiming(bound), state).p_value == 1.02 * job.experiment.alpha


def test_the_last_look_sees_only_what_followed_the_last_choice_of_an_event() -> None:
    job = play.Job(Target((0, 1), "noise", noise), Experiment(4_000, 1 - ALPHA))
    begun = play.begin(job)
    ended = play.measure(job, begun)
    ever, once = job.looks(ended)
    assert (ever.mode, once.mode, once.share) == (Mode.SEQUENTIAL, Mode.FIXED, play.FINAL)
    assert once.counts.trials == 4_000 - begun.drawn < ever.counts.trials
    assert [look.mode for look in job.looks(replace(ended, drawn=3_999))] == [Mode.SEQUENTIAL]


def test_the_k_input_game_is_played_where_it_is_the_stronger() -> None:
    many = audit(HUNDRED, epsilon=None, trials=200_000, mode=Mode.FIXED)
    two = run(replace(Planned(HUNDRED).games()[0], calibrated=True), Experiment(200_000))  # type: ignore[arg-type]
    assert (many.inputs, many.directions, two.inputs) == (100, 100, 2)
    assert two.epsilon_lower < many.epsilon_lower
    assert audit(BINARY, trials=1_000).inputs == 2


def test_an_input_that_is_betrayed_is_found_among_twenty() -> None:
    evidence = audit(TWENTY, epsilon=1.0, implementation=the_lie_leaves_out_the_last_value, trials=200_000)
    assert evidence.epsilon_lower > 1


def test_of_a_law_the_likeliest_input_is_guessed() -> None:
    many = some(k_inputs.of_law(KaryRandomizedResponse.for_epsilon(1.0, k=7)))
    assert many.guess(np.array([0, 3, 6, 7, -1])).tolist() == [0, 3, 6, -1, -1]
    assert many.shares == pytest.approx([math.e / (math.e + 6)] * 7)
    assert k_inputs.of_law(Laplace.for_epsilon(1.0)) is None


def betrayed(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    seen = rng.random(size) < 0.01
    return np.where(seen & (side == 0), np.inf, 0.0)


@pytest.mark.parametrize("mode", MODES)
def test_a_view_of_one_input_only_is_said_to_be_so(mode: Mode) -> None:
    evidence = run(Target((0, 1), "{y = 7}", betrayed, calibrated=True), Experiment(40_000, mode=mode))
    assert "epsilon is infinite unless" in evidence.event
    assert evidence.guesses == evidence.right > 100
    # What the counts alone show is finite: (1 - alpha) confidence that a guess is right with probability alpha**(1/right).
    assert 3 < evidence.epsilon_lower < math.inf
    rare = 0.01, 0.0005
    hardly = Target((0, 1), "{y = 7}", lambda side, n, rng: np.where(rng.random(n) < rare[side], np.inf, 0.0), calibrated=True)
    assert "infinite" not in run(hardly, Experiment(40_000)).event
    assert run(Target((0, 1), "{y = 7}", noise), Experiment(2_000, mode=mode)).event == "{y = 7}"


def test_infinite_scores_are_guessed_on_in_their_own_direction_only() -> None:
    scores = np.array([np.inf, 1.0, -np.inf])
    assert two_inputs.NEVER.count(scores, scores) == (0, 0)
    assert two_inputs.ThresholdRule(two_inputs.LARGEST, -np.inf).count(scores, -scores[:2]) == (1, 0)


def one_way(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Input 1 shows view 1 with probability 0.2, input 0 with 0.02: the odds are 10 one way and 1.2 the other."""
    return np.where(rng.random(size) < (0.02, 0.2)[side], -math.log(10), math.log(98 / 80))


@pytest.mark.parametrize("mode", MODES)
def test_a_leak_in_one_direction_is_found(mode: Mode) -> None:
    evidence = run(Target((0, 1), "{y = 1}", one_way, calibrated=True), Experiment(50_000, mode=mode))
    assert 0.9 * math.log(10) < evidence.epsilon_lower < math.log(10)
    assert evidence.directions == 1


class Backwards(Executor):
    """Works on nothing until it is asked for a result, and then on the last that it was given first."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[..., Any], Any]] = []
        self.handed_in = 0

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        owner = self

        class Asked(Future[Any]):
            def result(self, timeout: float | None = None) -> Any:
                owner.work()
                return super().result(timeout)

        future: Future[Any] = Asked()
        self.waiting.append((future, fn, arguments))
        return future

    def work(self) -> None:
        self.handed_in = max(self.handed_in, len(self.waiting))
        while self.waiting:
            future, fn, arguments = self.waiting.pop()
            future.set_result(fn(*arguments))


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("options", [
    *({"target": TWENTY, "epsilon": 1.0, "trials": 100_000, "mode": mode} for mode in MODES),
    {"target": BINARY.sample, "inputs": [0, 1], "epsilon": 0.8, "trials": 30_000},
], ids=[*MODES, "a callable"])  # fmt: skip
def test_any_number_of_workers_gives_the_same_evidence(options: dict[str, Any], processes: Executor) -> None:
    alone = audit(**options, seed=3)
    assert audit(**options, seed=3, execution=Execution(processes)) == alone
    with ThreadPoolExecutor(3) as threads:
        assert audit(**options, seed=3, execution=Execution(threads)) == alone


def ignores(x: int, size: int, rng: np.random.Generator) -> Any:
    """What a wrapper of another library's randomizer often is."""
    return [callable_of_one(x) for _ in range(size)]


@pytest.mark.parametrize("code", [callable_of_one, ignores])
@pytest.mark.parametrize("declared", [False, True])
def test_what_draws_from_a_source_of_its_own_is_not_copied_to_other_processes(
    code: Callable[..., Any], declared: bool, processes: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"target": BINARY, "implementation": code} if declared else {"target": code, "inputs": [0, 1]}
    options["trials"] = 1_000
    raises(TypeError, "use threads", audit, **options, execution=Execution(processes))
    with ThreadPoolExecutor(2) as threads:
        assert audit(**options, execution=Execution(threads)).epsilon_lower < 1
        # As from Python 3.14 on: threads that share nothing.
        monkeypatch.setattr(futures, "InterpreterPoolExecutor", ThreadPoolExecutor, raising=False)
        raises(TypeError, "use threads", audit, **options, execution=Execution(threads))


@pytest.mark.parametrize("code", [callable_of_one, ignores, Log({x: [x] * 900 for x in (0, 1)}), Program("cat")])
def test_what_may_repeat_itself_does_not_go_on_from_a_checkpoint(code: Any, tmp_path: Path) -> None:
    for options in ({"target": code, "inputs": [0, 1]}, {"target": BINARY, "implementation": code}):
        with pytest.raises(TypeError, match="use no checkpoint"):
            audit(**options, trials=1_000, execution=Execution(checkpoint=tmp_path / "audit.json"))


def test_a_checkpoint_is_for_one_function_alone_though_another_has_its_name(tmp_path: Path) -> None:
    def options(p: float, declared: bool) -> dict[str, Any]:
        function = partial(lambda p, x, size, rng: np.where(rng.random(size) < p, x, 1 - x), p)
        target = {"target": BINARY, "implementation": function} if declared else {"target": function, "inputs": [0, 1]}
        return {**target, "execution": Execution(checkpoint=tmp_path / str(declared)), "trials": 4_000, "mode": Mode.FIXED}

    for declared in (True, False):
        assert audit(**options(0.99, declared)) == audit(**options(0.99, declared))
        raises(ValueError, "another one", audit, **options(0.7, declared))


@pytest.mark.parametrize("mode", MODES)
def test_results_may_come_in_any_order(mode: Mode) -> None:
    options: dict[str, Any] = {"epsilon": 0.8, "trials": 30_000, "mode": mode, "seed": 3}
    with Backwards() as executor:
        evidence = audit(TWENTY, execution=Execution(executor), **options)
    assert evidence == audit(TWENTY, **options)
    assert evidence.epsilon_lower > 0.8  # a sequential audit stops on the way: the order matters to it
    assert executor.handed_in > 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of dask and tornado, when a worker dies
def test_a_cluster_gives_the_same_evidence_also_where_a_worker_dies_half_way() -> None:
    views = 50_000_000
    same_on_a_cluster(lambda by: scale.measured(by.executor, views, by.progress), lambda drawn, _: drawn > views // 2)


@pytest.mark.slow
def test_1e9_views_of_binary_randomized_response_take_a_minute_at_most() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        scale.measured(pool, 10**6)
        with at_most(scale.SECONDS):
            assert scale.measured(pool, 10**9).trials == 10**9


def test_what_does_not_pickle_is_refused_by_a_process_pool_in_words(processes: Executor) -> None:
    code: Callable[..., Any] = lambda x, size, rng: BINARY.sample(x, size, rng)  # noqa: E731
    raises(TypeError, "importable", audit, BINARY, implementation=code, trials=1_000, execution=Execution(processes))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("m", [BINARY, HUNDRED], ids=str)
def test_an_audit_goes_on_wherever_it_was_stopped(m: KaryRandomizedResponse, mode: Mode, tmp_path: Path) -> None:
    options: dict[str, Any] = {"epsilon": 1.0, "trials": 40_000, "mode": mode, "seed": 3}
    file, told, stops = tmp_path / "audit.json", [0], 0
    alone = audit(m, **options)

    def unplug(views: int, bound: float) -> None:
        if views > told[-1] and file.exists():  # whatever was told of is not drawn again
            told.append(views)
            raise UnpluggedError

    evidence = None
    while evidence is None:
        try:
            evidence = audit(m, execution=Execution(checkpoint=file, progress=unplug), **options)
        except UnpluggedError:
            stops += 1
    assert evidence == alone
    assert stops >= 8
    raises(ValueError, "another one", audit, m, execution=Execution(checkpoint=file), **{**options, "seed": 4})


def test_another_seed_draws_other_views_and_the_same_seed_the_same() -> None:
    first, again, other = (audit(BINARY, trials=5_000, mode=Mode.FIXED, seed=s) for s in (1, 1, 2))
    assert first == again
    assert (first.guesses, first.right) != (other.guesses, other.right)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """An audit's options, and the checkpoint that it wrote when it was done."""
    file = tmp_path_factory.mktemp("written") / "audit.json"
    options: dict[str, Any] = {"target": HUNDRED, "trials": 20_000, "seed": 3, "epsilon": 3.0}
    audit(**options, execution=Execution(checkpoint=file))
    return options, file.read_text(encoding="utf-8")


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a unit is missing": lambda state: state.update(units=state["units"] - 1),
    "a guess is right": lambda state: state["counts"].update(right=state["counts"]["right"] + 1),
    "there is more": lambda state: state.update(more=1),
    "there are no looks": lambda state: state.pop("looks"),
    "the digest is another": lambda state: state.update(digest="0" * 64),
    "there is no digest": lambda state: state.pop("digest"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_was_changed_is_refused_in_a_line(
    change: str, written: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    options, text = written
    data, file = json.loads(text), tmp_path / "audit.json"
    CHANGES[change](data["state"])
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match=r"audit\.json: needs a state as an audit wrote it, got another one") as caught:
        audit(**options, execution=Execution(checkpoint=file))
    assert "\n" not in str(caught.value)


def test_a_checkpoint_is_for_the_version_that_wrote_it(
    written: tuple[dict[str, Any], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (options, text), file = written, tmp_path / "audit.json"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(engine, "__version__", "0")
    raises(ValueError, "another one", audit, **options, execution=Execution(checkpoint=file))


STRICT = [(old, old + new) for old in ('"drawn": ', '"right": ') for new in ("NaN, ", "Infinity, ", "[" * 3000 + "]" * 3000 + ", ")]
STRICT += [(old, f"{old}1, {old}") for old in ('"drawn": ', '"right": ')]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": "ldpaudit.checkpoint/2"}', *STRICT], ids=range(12))
def test_what_is_no_checkpoint_or_no_strict_json_is_refused(text: Any, written: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    (options, usual), file = written, tmp_path / "audit.json"
    file.write_text(text if isinstance(text, str) else usual.replace(text[0], text[1], 1), encoding="utf-8")
    raises(ValueError, "needs a checkpoint of schema", audit, **options, execution=Execution(checkpoint=file))


def test_progress_shows_the_bound_as_it_tightens() -> None:
    told: list[tuple[int, float]] = []
    evidence = audit(BINARY, trials=50_000, execution=Execution(progress=lambda views, bound: told.append((views, bound))))
    views, bounds = zip(*told, strict=True)
    assert list(views) == sorted(views)
    assert views[-1] == evidence.trials
    assert bounds[len(bounds) // 4] < bounds[-1] <= evidence.epsilon_lower < account(BINARY).epsilon(0).high


@pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[9]], ids=lambda c: c.name.strip())
def test_close_to_the_fewest_views_are_used(case: Any) -> None:
    fires = case.fires(case.make(2.0))
    assert fixed_used(case, 2.0, guess_game(fires, 2.0, case.inputs), seeds=2) <= 1.1
    assert sequential_used(case, 2.0, any_time(fires, 2.0, case.inputs), runs=1_000) <= 1.1


def test_the_needed_views_are_those_of_the_specification() -> None:
    # spec/auditing.md, views in all for 0.95 epsilon: guess game, any time; the k-input game.
    assert RHO == 0.95
    for epsilon, fixed, ever in ((1.0, 5.6e3, 1.21e4), (2.0, 2.6e3, 5.6e3), (5.0, 6.7e3, 1.3e4)):
        assert guess_game(1.0, epsilon) == pytest.approx(fixed, rel=0.03)
        assert any_time(1.0, epsilon) == pytest.approx(ever, rel=0.03)
    assert guess_game(1.0, 2.0, 100) == pytest.approx(4.4e3, rel=0.03)
    assert guess_game(1.0, 5.0, 100) == pytest.approx(194, rel=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_foreign_code_is_never_asked_for_no_views(seed: int) -> None:
    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        return np.concatenate([BINARY.sample(x, 1, rng) for _ in range(size)])

    for trials in (16, 5_000):
        assert audit(BINARY, implementation=function, trials=trials, seed=seed).trials == trials


def test_a_budget_may_be_a_float_that_is_a_whole_number() -> None:
    assert audit(BINARY, trials=1e3) == audit(BINARY, trials=1_000)  # type: ignore[arg-type]


def test_no_seed_is_said_to_reproduce_what_draws_from_a_source_of_its_own() -> None:
    options: dict[str, Any] = {"trials": 1_000, "seed": 5}
    assert audit(BINARY, **options).seed == 5
    assert audit(BINARY.sample, inputs=[0, 1], **options).seed == 5
    assert audit(BINARY, implementation=BINARY, **options).seed == 5
    assert audit(callable_of_one, inputs=[0, 1], **options).seed is None
    assert audit(BINARY, implementation=callable_of_one, **options).seed is None
