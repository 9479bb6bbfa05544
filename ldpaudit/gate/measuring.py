"""What samples of a target show. It is called in a process of its own, so it imports little."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from importlib import import_module
from typing import Any

import ldpaudit
from ldpaudit.core.records import EvidenceRecord
from ldpaudit.enclosure import round_up
from ldpaudit.evidence import Form
from ldpaudit.workers.experiment import Execution, Reading

PROGRAM = "exec:"


def program_of(name: str) -> str | None:
    """The command of ``exec:COMMAND``; None of a callable."""
    return name.removeprefix(PROGRAM) if name.startswith(PROGRAM) else None


def measure(
    name: str,
    inputs: Sequence[Any],
    epsilon: Fraction,
    delta: Fraction,
    trials: int,
    confidence: float,
    seed: int,
    form: str = "raw",
    folder: str = "",
    support: str | None = None,
    patience: float | None = None,
) -> str:
    """The evidence against a claim of epsilon and delta, in JSON; ``module:callable`` is imported and run, and the program of
    ``exec:COMMAND`` is run in the folder.
    """
    callables = import_module("ldpaudit.adapters.callables")
    with ExitStack() as stack:
        if (command := program_of(name)) is None:
            code = callables.resolve(name)
        else:
            os.chdir(folder)
            code = stack.enter_context(import_module("ldpaudit.adapters.programs").Program(command))
        found = ldpaudit.audit(
            code,
            inputs=inputs,
            epsilon=float(epsilon),
            delta=round_up(delta),
            trials=trials,
            confidence=confidence,
            seed=seed,
            reading=Reading(Form(form), support=None if support is None else callables.resolve(support)),
            execution=Execution(patience=patience),
        )
    return EvidenceRecord.of(found).model_dump_json()
