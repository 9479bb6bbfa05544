"""Protocols that count values, and ways of adding noise to sums, for people and programs; GGKPV's tables, and their picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpaudit.enclosure import show_down, show_up
from ldpaudit.report.plot import new_figure, save
from ldpaudit.report.printer import Cells, text_of

if TYPE_CHECKING:
    from ldpaudit.enclosure import Enclosure
    from ldpaudit.studies.counting_protocols import Setting
    from ldpaudit.studies.design import Goal
    from ldpaudit.studies.frequencies import Noisy, Protocol
    from ldpaudit.studies.ggkpv_tables import Limit, Line, Point, Regimes

FREQUENCIES = ("error at most", "messages", "bits a message", "deployed")
_OF_FREQUENCIES = (
    "error at most: bound of the expected largest error of all values, for any data; in users. messages: per user, on average."
)
SUMS = ("error at most", "users", "added by", "certified")
_OF_SUMS = """\
error at most: largest standard deviation of an estimated count, whatever the data; in users.
Noise of aggregators: each adds it, one is trusted, and the error is that of all together."""


def write_frequencies(goal: Goal, users: int, values: int, found: Sequence[Protocol]) -> str:
    """Protocols as text, the one with the least bound of its error first."""
    title = f"{values:,} values counted among {users:,} users, each protocol with the least noise found that keeps {goal}"
    return "\n".join([title, *text_of([FREQUENCIES, *frequencies(found)]), _OF_FREQUENCIES])


def frequencies(found: Iterable[Protocol]) -> list[Cells]:
    """Protocols as a table's cells."""
    return [(show_up(p.error.high, 4), f"{float(p.messages):.4g}", f"{p.bits:,}", str(p.plan)) for p in found]


def frequencies_as_data(goal: Goal, users: int, values: int, found: Iterable[Protocol]) -> dict[str, Any]:
    """Protocols for JSON."""
    rows = [{"plan": str(p.plan), "messages": float(p.messages), "bits a message": p.bits, "error": _error(p.error)} for p in found]
    return {**_promise(goal), "users": users, "values": values, "protocols": rows}


def write_sums(goal: Goal, values: int, found: Sequence[Noisy]) -> str:
    """Ways of adding noise as text."""
    title = f"{values:,} values counted by a sum, each way with the least noise found that keeps {goal}"
    return "\n".join([title, *text_of([SUMS, *sums(found)]), _OF_SUMS])


def sums(found: Iterable[Noisy]) -> list[Cells]:
    """Ways of adding noise as a table's cells."""
    by = {False: "clients", True: "each of {} aggregators"}
    return [(show_up(x.error.high, 4), f"{x.users:,}", by[bool(x.parties)].format(x.parties), str(x.plan)) for x in found]


def sums_as_data(goal: Goal, values: int, found: Iterable[Noisy]) -> dict[str, Any]:
    """Ways of adding noise for JSON."""
    rows = [{"plan": str(way.plan), "users": way.users, "aggregators": way.parties, "error": _error(way.error)} for way in found]
    return {**_promise(goal), "values": values, "ways": rows}


def _promise(goal: Goal) -> dict[str, float]:
    return {"epsilon": float(goal.epsilon), "delta": float(goal.delta)}


def _error(error: Enclosure) -> dict[str, Any]:
    return {"high": error.high, "rigour": error.rigour.name, "source": error.source}


TABLE = ("model", "protocol", "noise", "", "messages", "bits a user", "reads", "at most", "measured", "at least", "paper")
_DIGITS = 4
_COLOURS = ("#1d5fa8", "#b3261e", "#2e7d32", "#8e44ad", "#c77700")
_MARKERS = {"local": "v", "one message": "s", "many messages": "^", "central": "o"}
_NOTES = (
    "at most: upper bound of the largest error over all values, for any data, in expectation{starred}.",
    "measured: the largest error, mean of {runs} runs and standard error; {data}.",
    "at least: no protocol of the model keeps all errors below it with probability above 3/4 on all data; local: for delta = 0. "
    "one message: the larger of the central model's limit and, in brackets, the paper's own for one message; 0 excludes nothing.",
    "closed form: the noise of the theorems' proofs. Constants: randomized response BBGN19, Theorem 3.1; count-min and Hadamard "
    "from memory, of Lemmas 4.10 and 4.4; RAPPOR our own, since the paper prints none.",
    "paper: the paper's cell for the error, without constants and logarithms. reads: numbers read to answer for one value.",
)


def table_command(table: str, s: Setting, runs: int, seed: int) -> str:
    """What prints these numbers."""
    return f"ldpaudit table {table} {s.named} --runs {runs} --seed {seed}"


def write_table(title: str, command: str, data: str, lines: Sequence[Line]) -> str:
    """As text: the table, what its columns mean, and the commands behind its cells."""
    table = text_of([TABLE, *map(cells, lines)])
    lacking = ((each.protocol, each.least_users) for each in lines if each.system is None)
    missing = [f"infeasible: {p.name}, {p.origin}, {p.needs}: from n = {users:,} on" for p, users in lacking]
    often = max((float(each.system.exceeded) for each in lines if each.system), default=0.0)
    runs = max((each.measured.runs for each in lines if each.measured), default=0)
    starred = f"; with *, except with probability {show_up(often, 2)}" if often else ""
    notes = [note.format(starred=starred, runs=runs, data=data) for note in _NOTES]
    return "\n".join([title, f"$ {command}", *table, *missing, "", *notes, "", *_commands(lines)])


def cells(line: Line) -> Cells:
    """A line of one of GGKPV's tables."""
    p, system, measured = line.protocol, line.system, line.measured
    limit = show_down(line.limit.error.low, _DIGITS)
    if line.own:
        limit += f" ({show_down(line.own.error.low, _DIGITS)})"
    if system is None:
        return p.model, p.name, "-", p.origin, "-", "-", "-", "infeasible", "-", limit, line.paper
    most = show_up(system.error.high, _DIGITS) + ("*" if system.exceeded else "")
    told = f"{measured.mean:.4g} +- {measured.standard_error:.2g}" if measured else "-"
    large = [float(each) for each in (system.messages, system.bits_a_user, system.reads)]
    counts = [f"{each:,.0f}" if each >= 1000 else f"{each:.4g}" for each in large]
    return p.model, p.name, system.noise, p.origin, *counts, most, told, limit, line.paper


def _commands(lines: Iterable[Line]) -> list[str]:
    """What certifies each noise, and computes each limit."""
    noise = [f"{each.protocol.name}, {each.protocol.origin}: {each.system.command}" for each in lines if each.system]
    limits: dict[str, dict[str, None]] = {}
    for each in lines:
        limits.setdefault(each.limit.command, {})[each.protocol.model] = None
        if each.own:
            limits.setdefault(each.own.command, {})[f"{each.protocol.model} in brackets, {each.protocol.origin}"] = None
    return [*noise, *(f"at least, {', '.join(models)}: {command}" for command, models in limits.items())]


def table_as_data(table: str, command: str, s: Setting, lines: Iterable[Line]) -> dict[str, Any]:
    """For JSON; every cell with the command that prints its number."""
    setting = {"n": s.users, "B": s.values, **_promise(s.goal)}
    return {"name": table, "command": command, **setting, "rows": [_row(each, command) for each in lines]}


def _row(line: Line, command: str) -> dict[str, Any]:
    p, system, measured = line.protocol, line.system, line.measured
    row: dict[str, Any] = {"model": p.model, "protocol": p.name, "noise": p.origin, "paper": line.paper}
    row["at least"] = _limit(line.limit)
    if line.own:
        row["at least"]["own"] = _limit(line.own)
    if system is None:
        return {**row, "feasible from": {"value": line.least_users, "needs": p.needs, "command": command}}
    row["parameter"] = {"value": system.noise, "command": system.command}
    numbers = {
        "messages": float(system.messages),
        "bits a message": system.bits,
        "bits a user": float(system.bits_a_user),
        "reads": float(system.reads),
        "at most": system.error.high,
    }
    row |= {key: {"value": value, "command": command} for key, value in numbers.items()}
    row["at most"]["exceeded"] = float(system.exceeded)
    if measured:
        spread = measured.standard_error if measured.runs > 1 else None
        row["measured"] = {"value": measured.mean, "standard error": spread, "runs": measured.runs, "command": command}
    return row


def _limit(limit: Limit) -> dict[str, Any]:
    return {"value": limit.error.low, "source": limit.error.source, "command": limit.command}


def draw_regimes(title: str, s: Setting, found: Regimes, path: Path) -> None:
    """Errors and bits a user over the number of users: dashed in closed form, solid certified, dotted what nothing beats.

    Raises LdpauditError where matplotlib is missing; DeploymentError where the path has another ending or cannot be
    written.
    """
    figure = new_figure(path, 13, 5.5)
    errors, bits = figure.subplots(1, 2)
    _draw_costs(errors, found, lambda point: point.error, named=True)
    _draw_costs(bits, found, lambda point: point.bits, named=False)
    errors.plot(found.users, found.users, color="0.6", linewidth=0.8, label="n: nothing is learned")
    for limits in dict.fromkeys(found.limits.values()):
        _draw_limit(errors, found, limits)
    top = max(point.error for curve in found.curves for point in curve.points)
    errors.set(ylabel="largest error over all values, in users", ylim=(1, 30 * top))
    bits.set(ylabel="bits a user")
    figure.suptitle(f"{title}; B = {s.values:,}, ({float(s.goal.epsilon):g}, {float(s.goal.delta):g})-private", fontsize=11)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    save(figure, path)


def _draw_costs(axes: Any, found: Regimes, cost: Callable[[Point], float], *, named: bool) -> None:
    """A line for each protocol, wider ones below, so that none hides another; where one is overtaken, and where they begin."""
    axes.set(xscale="log", yscale="log", xlabel="users n", xlim=(found.users[0], found.users[-1]))
    names = list(dict.fromkeys(each.protocol.name for each in found.curves))
    for at, curve in enumerate(found.curves):
        p, place = curve.protocol, names.index(curve.protocol.name)
        style = "-" if p.origin == "certified" else "--"
        label = f"{p.name}{'*' if any(point.exceeded for point in curve.points) else ''}, {p.origin}" if named else None
        axes.plot([point.users for point in curve.points], [cost(point) for point in curve.points], style, label=label,
                  color=_COLOURS[place], linewidth=4 - 0.7 * place, zorder=2 + 0.1 * at)  # fmt: skip
        if named and found.users[0] < curve.least_users <= found.users[-1]:
            axes.axvline(curve.least_users, ymax=0.06, color=_COLOURS[place], linestyle=style, linewidth=1)
            words = f"{p.name} exists,\n{p.needs}: n = {curve.least_users:,}"
            _annotate(axes, curve.least_users, 0.07 + 0.07 * (at % 3), words, _COLOURS[place])
    for at, (n, one, other) in enumerate(found.crossings(cost)):
        axes.axvline(n, color="0.4", linewidth=0.8, linestyle=(0, (1, 3)))
        words = f"{other.protocol.name} below\n{one.protocol.name}: n = {n:.2g}"
        _annotate(axes, n, 0.98 - 0.07 * (at % 4), words, "0.2")
    axes.grid(alpha=0.25)


def _annotate(axes: Any, n: float, height: float, words: str, colour: str) -> None:
    low, high = axes.get_xlim()
    side = "left" if n < low ** (1 / 4) * high ** (3 / 4) else "right"
    box = {"color": "white", "alpha": 0.7, "pad": 0.5}
    axes.annotate(words, (n, height), xycoords=("data", "axes fraction"), xytext=(3 if side == "left" else -3, 0), ha=side,
                  textcoords="offset points", va="top", fontsize=7, color=colour, zorder=5, bbox=box)  # fmt: skip


def _draw_limit(axes: Any, found: Regimes, limits: Sequence[float]) -> None:
    """One line for all models whose limits are the same."""
    known = [(n, limit) for n, limit in zip(found.users, limits, strict=True) if limit >= 1]
    models = [model for model, each in found.limits.items() if each == limits]
    if known:
        axes.plot(*zip(*known, strict=True), ":", color="0.3", marker=_MARKERS[models[0]], markersize=5, fillstyle="none",
                  label=f"at least, {', '.join(models)}")  # fmt: skip
