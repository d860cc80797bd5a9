"""Declarations of the arguments and options of commands, and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

from ..settings.setting import Setting, SwitchCodec
from ..settings.settings_table import DATA, ENTRANTS, LOSS, PENALTY, in_help

#: Registries of the ids that options and arguments accept.
REGISTRIES = {
    DATA.flag: ("solverscope.datasets", "DATASETS"),
    LOSS.flag: ("solverscope.solvers", "LOSSES"),
    PENALTY.flag: ("solverscope.solvers", "PENALTIES"),
    ENTRANTS.flag: ("solverscope.solvers", "SOLVERS"),
}


def _completing(name: str) -> Callable[[str], list[str]] | None:
    """Return the function that completes an id in a shell; None if the option does not accept ids."""
    if name not in REGISTRIES:
        return None
    module, table = REGISTRIES[name]

    def complete(incomplete: str) -> list[str]:
        label, equals, begun = incomplete.rpartition("=")
        return [
            f"{label}{equals}{id}" for id in getattr(import_module(module), table) if id.startswith(begun)
        ]

    return complete


def option(flag: str, metavar: str, help: str, default: Any = None) -> Any:
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


def option_of(
    setting: Setting,
    help: str | None = None,
    *,
    metavar: str | None = None,
    default: Any = None,
    repeated: bool = False,
) -> Any:
    """Return the option of a setting; it accepts several values if ``repeated`` or if the setting does."""
    if isinstance(setting.codec, SwitchCodec):
        return typer.Option(None, setting.flag, help=setting.help, show_default=False)
    if default is None:
        default = [] if repeated or setting.codec.repeated else setting.given
    return option(setting.flag, metavar or setting.metavar, help or setting.help, default)


def takes_settings(name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that adds the settings of a command as keyword arguments.

    Settings of this command alone follow ``solver``; those shared with other commands come last.
    """

    def add(command: Callable[..., int]) -> Callable[..., int]:
        signature = inspect.signature(command, eval_str=True)
        *named, _ = signature.parameters.values()
        place = list(signature.parameters).index("solver") + 1
        own = [_parameter(one) for one in in_help(name) if one.commands == (name,)]
        shared = [_parameter(one) for one in in_help(name) if one.commands != (name,)]
        command.__signature__ = signature.replace(parameters=[*named[:place], *own, *named[place:], *shared])
        return command

    return add


def _parameter(setting: Setting) -> inspect.Parameter:
    types = {True: list[str], False: bool | None if isinstance(setting.codec, SwitchCodec) else str | None}
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=option_of(setting),
        annotation=types[setting.codec.repeated],
    )


PLUGIN_OPTION = options(
    "--plugin",
    "FILE",
    "Python file that registers your own solver, loss or data. NAME=FILE puts NAME- before its ids.",
)
JSON_OPTION = switch("--json", "JSON lines on standard output, and nothing else there.")
LOSSES_OPTION = option_of(LOSS, f"{LOSS.help} Repeat it for several.", repeated=True)
PENALTIES_OPTION = option_of(PENALTY, f"{PENALTY.help} Repeat it for several.", repeated=True)
OUT_OPTION = option("--out", "FILE", "Write all to FILE.jsonl, .csv or .npz.")
REQUIRE_OPTION = options(
    "--require",
    "converged|gap",
    "End with status 5 if a run has not converged, or has no proved bound of f - f* (with --gap, so small).",
)
CHOOSE_OPTION = option("--choose", "lam", "Name the λ with the best metric on held-out data.")
FOLDS_OPTION = option("--folds", "K", "With --choose: hold out each of K parts of the training part in turn.")


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
    as_json: bool = JSON_OPTION,
    plugin: list[str] = PLUGIN_OPTION,
) -> None:
    """Declare the options that ``sweep`` and ``paper`` share."""


def also(declared: Callable[..., None]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that adds the options of another function to a command."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        own, more = (inspect.signature(one, eval_str=True) for one in (command, declared))
        *named, _ = own.parameters.values()
        command.__signature__ = own.replace(parameters=[*named, *more.parameters.values()])
        return command

    return add
