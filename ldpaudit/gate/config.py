"""What a gate is asked to check, and by which policy: ``ldpaudit.toml``, or ``[tool.ldpaudit]`` of ``pyproject.toml``."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from glob import escape
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema

from ldpaudit.certificates.certify import CONFIDENCE, TRIALS
from ldpaudit.core.refusal import CALLABLE, Id, refusal, repeated
from ldpaudit.errors import DeploymentError
from ldpaudit.files.stated import FIRST, SCHEMA
from ldpaudit.files.tables import NUMBER, Table, exact_number
from ldpaudit.files.toml import line_of, parse, read_text
from ldpaudit.workers.worker_processes import PATIENCE

CONFIG = "ldpaudit.toml"
TABLE = ("tool", "ldpaudit")  # where in pyproject.toml the configuration stands


def _float_size(number: Fraction) -> Fraction:
    if abs(number) > 10**308:
        raise ValueError("needs a number that a float can hold, got one above 1e308")
    return number


_Number = Annotated[Fraction, BeforeValidator(exact_number), AfterValidator(_float_size), WithJsonSchema(NUMBER)]


class TargetTable(Table):
    """A callable, or a program, that is audited as a black box."""

    id: Id = Field(description="Name of the target, in findings and in the baseline.")
    callable: str = Field(
        pattern=r"^([\w.]+:[\w.]+|exec:.*\S.*)$",
        description="`module:callable`, from an input to a report; or `exec:COMMAND`, a program that answers each line of JSON "
        "with one, started in the configuration's folder.",
    )
    inputs: list[Any] = Field(min_length=2, description="Inputs of the calls; any two must be hard to distinguish.")
    epsilon: _Number = Field(description="The claim, in nats.")
    delta: _Number = Field(Fraction(0), description="The claim's delta.")
    form: Literal["raw", "canonical", "unordered"] = Field(
        "raw", description="Form of reports: as returned; without types and low bits of floats; also without the order of lists."
    )
    support: str | None = Field(
        None, pattern=CALLABLE,
        description="`module:function` of a report and an input: whether the report supports the input, as by its hash function.",
    )  # fmt: skip
    expect: Literal["refuted"] | None = Field(None, description="The expected outcome, if the target is known to be refuted.")


def _inside(path: str) -> str:
    """A configuration may come with a change that nobody has read: what it has written stays in its own folder."""
    if not Path(path).name or Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f"needs a file inside the configuration's folder, got {path!r:.60} (`--baseline FILE` takes any)")
    return path


class Config(Table):
    """What ``[tool.ldpaudit]`` or ``ldpaudit.toml`` says."""

    deployments: list[str] = Field([], description="Patterns of deployment files, relative to the configuration's folder.")
    targets: list[TargetTable] = Field([], description="Callables that are audited as black boxes.")
    seed: int = Field(0, description="Seed of all samples.")
    trials: int = Field(TRIALS, ge=16, le=10**9, description="Views per claim, and per target.")
    confidence: float = Field(CONFIDENCE, gt=0, lt=1, description="Confidence of the evidence on each claim and target.")
    require_decision: bool = Field(False, alias="require-decision", description="Whether an undecided claim fails the build.")
    baseline: Annotated[str, AfterValidator(_inside)] | None = Field(
        None, description="File inside the configuration's folder that findings are compared with."
    )
    patience: float = Field(PATIENCE, gt=0, description="Time limit in seconds for user code; if set, for its first report, too.")
    no_import: bool = Field(False, alias="no-import", description="Whether to refuse files that name code.")


def find_config(folder: Path) -> tuple[Path, Config]:
    """The configuration of a folder: ``ldpaudit.toml``, else ``[tool.ldpaudit]`` of ``pyproject.toml``.

    Where there is neither, all deployment files of the folder, with the defaults: the path is then that of no file.

    Raises DeploymentError where neither is there and no deployment file either, or it says anything that it may not.
    """
    for path, table in ((folder / CONFIG, ()), (folder / "pyproject.toml", TABLE)):
        if path.is_file():
            text = read_text(path)
            tree: Any = parse(text, str(path))
            for depth, key in enumerate(table):
                if not isinstance(tree, dict):
                    where = table[:depth]
                    raise DeploymentError(f"needs a table, got {tree!r:.60}", str(path), line_of(text, where), ".".join(where))
                tree = tree.get(key, {})
            if tree or not table:
                _require_alone(path, folder)
                return path, _config(tree, text, path, table)
    if found := [file.name for file in sorted(folder.glob("*.toml")) if _is_deployment(file)]:
        return folder / CONFIG, Config.model_validate({"deployments": [escape(name) for name in found]})
    raise DeploymentError(f"needs {CONFIG}, or [tool.ldpaudit] in pyproject.toml, or deployment files", str(folder))


INITIAL = """\
# What `ldpaudit check` checks, and by which policy; `ldpaudit schema gate` describes every key.
deployments = [
{deployments}]
# What every claim came out as, at the last `ldpaudit check --update-baseline`; whatever is worse fails the build.
baseline = "ldpaudit-baseline.json"
# To fail the build where a claim is undecided, uncomment this line:
# require-decision = true

# To audit code of your own as a black box, uncomment these lines:
# [[targets]]
# id = "client"
# callable = "mypackage.client:report"  # from an input to a report; or "exec:COMMAND"
# inputs = [0, 1]
# epsilon = 1
"""


def initial(folder: Path) -> str:
    """A configuration of all deployment files of a folder and of those in it, but for hidden ones.

    Raises DeploymentError where it has a configuration, or no deployment file.
    """
    for path in (folder / CONFIG, folder / "pyproject.toml"):
        if path.is_file() and (path.name == CONFIG or "tool.ldpaudit" in read_text(path)):
            raise DeploymentError("is a configuration already", str(path))
    files = [each.relative_to(folder) for each in sorted(folder.rglob("*.toml"))]
    shown = [each for each in files if not any(part.startswith(".") for part in each.parts) and _is_deployment(folder / each)]
    if not shown:
        raise DeploymentError("needs deployment files; `ldpaudit init` writes one", str(folder))
    return INITIAL.format(deployments="".join(f"    {json.dumps(escape(each.as_posix()))},\n" for each in shown))


def _is_deployment(file: Path) -> bool:
    with suppress(DeploymentError):
        return parse(read_text(file), str(file)).get("schema") in (FIRST, SCHEMA)
    return False


def _require_alone(path: Path, folder: Path) -> None:
    """A configuration that nobody reads would pass for one that is obeyed."""
    other, tool = folder / "pyproject.toml", None
    if path.name == CONFIG and other.is_file():
        with suppress(DeploymentError):  # of a file that is not the gate's
            tool = parse(read_text(other), str(other)).get("tool")
    if isinstance(tool, dict) and "ldpaudit" in tool:
        raise DeploymentError(f"needs one configuration, got {CONFIG} and [tool.ldpaudit] in pyproject.toml", str(folder))


def _config(tree: Mapping[str, Any], text: str, path: Path, table: Sequence[str]) -> Config:
    def fail(message: str, key: Sequence[str | int]) -> DeploymentError:
        return DeploymentError(message, str(path), line_of(text, key), ".".join(map(str, key)))

    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        sentence, key = refusal(error, Config)
        raise fail(sentence, [*table, *key]) from None
    home = path.parent.resolve()
    if config.baseline and not (home / config.baseline).resolve().is_relative_to(home):
        found = f"needs a file inside the configuration's folder, got {config.baseline!r:.60}, which a link leads out of it"
        raise fail(found, [*table, "baseline"])
    if not config.deployments and not config.targets:
        raise DeploymentError("needs deployments or targets, got neither", str(path), None, ".".join(table))
    if twice := repeated(target.id for target in config.targets):
        raise fail(f"needs targets with unique ids, got {twice!r} twice", [*table, "targets"])
    return config
