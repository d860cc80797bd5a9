# ruff: noqa: B008 (an option is declared as the default of its parameter)
"""How commands declare their arguments and options, and those that several of them have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

#: The registry whose ids an option or argument takes.
REGISTRIES = {
    "DATASET": ("solverscope.datasets", "DATASETS"),
    "--loss": ("solverscope.solvers", "LOSSES"),
    "--penalty": ("solverscope.solvers", "PENALTIES"),
    "--solver": ("solverscope.solvers", "SOLVERS"),
}


def _completing(name: str) -> Callable[[str], list[str]] | None:
    """Return the function that completes an id in a shell; None for an option that takes none."""
    if name not in REGISTRIES:
        return None
    module, table = REGISTRIES[name]

    def complete(incomplete: str) -> list[str]:
        label, equals, begun = incomplete.rpartition("=")
        return [
            f"{label}{equals}{id}" for id in getattr(import_module(module), table) if id.startswith(begun)
        ]

    return complete


def option(flag: str, metavar: str, help: str, default: str | None = None) -> Any:
    return typer.Option(default, flag, metavar=metavar, help=help, autocompletion=_completing(flag))


def options(flag: str, metavar: str, help: str) -> Any:
    """Declare an option that may be repeated."""
    return option(flag, metavar, help, default=[])


def switch(flag: str, help: str) -> Any:
    return typer.Option(False, flag, help=help)


def argument(metavar: str, help: str | None = None, *, default: Any = ...) -> Any:
    return typer.Argument(
        default, metavar=metavar, help=help, autocompletion=_completing(metavar.partition("[")[0])
    )


PLUGIN = options("--plugin", "FILE", "Python file that registers your own solver, loss or data.")
JSON = switch("--json", "JSON lines on standard output, and nothing else there.")
SOLVER = "--solver", "[LABEL=]ID[,name=value,...]", "A solver to run; repeat it for several."
DATASET = "DATASET", "See `solverscope list datasets`."
LOSSES = options("--loss", "ID", "Loss; by default the data set's. Repeat it for several.")
PENALTIES = options("--penalty", "ID", "Penalty; by default the data set's. Repeat it for several.")
LOSS_SET = options("--loss-set", "name=value", "Parameter of the loss.")
PENALTY_SET = options("--penalty-set", "name=value", "Parameter of the penalty.")
AVERAGE = typer.Option(
    None, "--average/--sum", help="Mean or sum over instances; by default the paper's.", show_default=False
)
OUT = option("--out", "FILE", "Write all to FILE.jsonl, .csv or .npz.")
CHOOSE = option("--choose", "lam", "Name the λ with the best metric on held-out data.")


def experiment(
    average: bool | None = AVERAGE,
    set_: list[str] = options("--set", "[LABEL.]name=value", "Hyper-parameter of the solvers that have it."),
    loss_set: list[str] = LOSS_SET,
    penalty_set: list[str] = PENALTY_SET,
    option: list[str] = options("--option", "name=value", "Option of the data set."),
    tol: str | None = option(
        "--tol",
        "EPS",
        "Stop at a violation of EPS times that at w = 0, unless f is known to be too high there.",
    ),
    gap: str | None = option("--gap", "EPS", "Stop at (f - f*)/|f*| of EPS."),
    max_iter: str | None = option("--max-iter", "N", "Stop after N iterations."),
    max_seconds: str | None = option("--max-seconds", "S", "Stop after S CPU seconds of the solver."),
    seed: str | None = option("--seed", "N", "Seed of splits, generators and random orders; by default 0."),
    threads: str = option("--threads", "N", "Threads that share the rows of X.", "1"),
) -> None:
    """The options that ``run`` and ``path`` have in common."""


def cluster(
    scheduler: str | None = option(
        "--scheduler", "ADDRESS", "Dask's scheduler, as tcp://host:port; by default one of its own."
    ),
    workers: str | None = option(
        "--workers", "N", "Worker processes on this machine; by default one a core."
    ),
    threads_per_worker: str = option(
        "--threads-per-worker", "N", "Runs that a worker process advances at a time.", "1"
    ),
    resume: bool = switch(
        "--resume", "Go on: runs that have finished are kept, those that failed or were stopped rerun."
    ),
    as_json: bool = JSON,
    plugin: list[str] = PLUGIN,
) -> None:
    """The options that ``sweep`` and ``paper`` have in common."""


def also(declared: Callable[..., None]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Let a command take the options that another function declares, as its further arguments."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        own, more = (inspect.signature(one, eval_str=True) for one in (command, declared))
        *named, _ = own.parameters.values()
        command.__signature__ = own.replace(parameters=[*named, *more.parameters.values()])
        return command

    return add
