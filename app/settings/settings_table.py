"""The settings of an experiment, each declared once for command line, page, URL, tables and records.

A new setting needs a declaration here and an attribute that stores its value. The attribute belongs to
:class:`.recipe.Recipe`, whose names are arguments of ``solvers.make_problem``, or to ``solvers.Stopping`` if
the setting can end a run. ``page_field`` and ``in_run_form`` add a field to the sidebar, ``in_address`` a URL
parameter. Solvers are not imported here, because every command imports this module when it starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .setting import (
    ConditionsCodec,
    LamChangesCodec,
    NumberCodec,
    OriginCodec,
    PageField,
    PairsCodec,
    PenaltyFactorsCodec,
    Setting,
    SwitchCodec,
    TextCodec,
)


def _most_seed() -> float:
    from solverscope.solvers.declare import MOST_SEED

    return MOST_SEED


#: The most often that each solver may run on the page.
MOST_REPEATS = 9
#: How often each solver may run, as an address has it.
REPEATS = tuple(map(str, range(1, MOST_REPEATS + 1)))

DATA = Setting(
    "data",
    part="problem",
    flag="DATASET",
    metavar="DATASET",
    help="See `solverscope list datasets`.",
    codec=TextCodec(),
    commands=(),
    in_record="dataset",
    in_address="data",
)
OPTIONS = Setting(
    "options",
    part="problem",
    flag="--option",
    metavar="name=value",
    help="Option of the data set.",
    codec=PairsCodec(),
    in_record="options",
    in_address="options",
)
LOSS_PARAMS = Setting(
    "loss_params",
    part="problem",
    flag="--loss-set",
    metavar="name=value",
    help="Parameter of the loss.",
    codec=PairsCodec(),
    in_record="loss_params",
)
PENALTY_PARAMS = Setting(
    "penalty_params",
    part="problem",
    flag="--penalty-set",
    metavar="name=value",
    help="Parameter of the penalty.",
    codec=PairsCodec(),
    in_record="penalty_params",
)
SEED = Setting(
    "seed",
    part="problem",
    flag="--seed",
    metavar="N",
    help="Seed of splits, generators and random orders; by default 0.",
    codec=NumberCodec(low=0, high=_most_seed, kind=int),
    in_record="seed",
    in_address="seed",
    page_field=PageField(0, "seed of splits and generators", "random seed", low=0, high=_most_seed),
)
LOSS = Setting(
    "loss",
    part="problem",
    flag="--loss",
    metavar="ID",
    help="Loss; by default the data set's.",
    codec=TextCodec(),
    commands=("run",),
    in_record="loss",
    in_address="loss",
)
PENALTY = Setting(
    "penalty",
    part="problem",
    flag="--penalty",
    metavar="ID",
    help="Penalty; by default the data set's.",
    codec=TextCodec(),
    commands=("run",),
    in_record="penalty",
    in_address="penalty",
)
LAM = Setting(
    "lam",
    part="problem",
    flag="--lam",
    metavar="X",
    help="λ.",
    codec=NumberCodec(above=0),
    commands=("run",),
    in_record="lam",
    in_address="lam",
    left_to_data=True,
    page_field=PageField(1.0, "strength of the penalty", "λ", low=0.0, open_low=True),
)
LAM_RATIO = Setting(
    "lam_ratio",
    part="problem",
    flag="--lam-ratio",
    metavar="R",
    help="λ as a share of λ_max, where all is zero.",
    codec=NumberCodec(above=0),
    commands=("run",),
)
THREADS = Setting(
    "threads",
    part="problem",
    flag="--threads",
    metavar="N",
    help="Threads that share the rows of X.",
    codec=NumberCodec(low=1, kind=int),
    given="1",
    unsaid=1,
    in_address="threads",
    page_field=PageField(
        1,
        "threads that share the products of a run; what it computes is the same for any number",
        "threads of a run",
        low=1,
        high=max(2, os.cpu_count() or 1),
    ),
    in_run_form=True,
)
ENTRANTS = Setting(
    "entrants",
    part="experiment",
    flag="--solver",
    metavar="[LABEL=]ID[,name=value,...]",
    help="A solver to run; repeat it for several.",
    codec=PairsCodec(),
    commands=(),
    in_address="solvers",
)
SET = Setting(
    "set",
    part="",
    flag="--set",
    metavar="[LABEL.]name=value",
    help="Hyper-parameter of the solvers that have it.",
    codec=PairsCodec(),
)
TOL = Setting(
    "tol",
    part="limits",
    flag="--tol",
    metavar="EPS",
    help="Stop at a violation of EPS times that at w = 0, unless f is known to be too high there.",
    codec=NumberCodec(low=0),
    in_address="tol",
    page_field=PageField(
        1e-6,
        "stop when the violation is at most this fraction of its value at w = 0",
        "relative violation ε",
        low=0.0,
        high=1.0,
        open_low=True,
    ),
    in_run_form=True,
)
GAP = Setting(
    "gap",
    part="limits",
    flag="--gap",
    metavar="EPS",
    help="Stop at (f - f*)/|f*| of EPS.",
    codec=NumberCodec(low=0),
)
F_STAR = Setting(
    "f_star",
    part="limits",
    flag="--f-star",
    metavar="X|auto",
    help="f*, or solve for it once and remember it.",
    codec=NumberCodec(texts=("auto",)),
    commands=("run",),
)
MAX_ITER = Setting(
    "max_iter",
    part="limits",
    flag="--max-iter",
    metavar="N",
    help="Stop after N iterations.",
    codec=NumberCodec(low=0, kind=int),
)
MAX_SECONDS = Setting(
    "max_seconds",
    part="limits",
    flag="--max-seconds",
    metavar="S",
    help="Stop after S CPU seconds of the solver.",
    codec=NumberCodec(low=0),
    in_address="max_seconds",
    page_field=PageField(
        120.0,  # less than on the command line: somebody waits for it
        "stop a run after this many CPU seconds",
        "time limit, CPU s",
        low=0.0,
        high=1e6,
        open_low=True,
    ),
    in_run_form=True,
)
ORIGIN = Setting(
    "origin",
    part="experiment",
    flag="--from",
    metavar="FILE[#LABEL]@ITERATION",
    help="Go on from an iterate of a run that --out wrote, with its problem and, where nothing else is "
    "given, its solver and hyper-parameters.",
    codec=OriginCodec(),
    commands=("run",),
)
AVERAGE = Setting(
    "average",
    part="problem",
    flag="--average/--sum",
    metavar="",
    help="Mean or sum over instances; by default the paper's.",
    codec=SwitchCodec(),
    in_record="average",
)
INTERCEPT = Setting(
    "intercept",
    part="problem",
    flag="--intercept/--no-intercept",
    metavar="",
    help="Fit a constant for each output too, which is not penalised; by default not.",
    codec=SwitchCodec(),
    in_record="intercept",
    in_address="intercept",
    left_to_data=True,
    page_field=PageField(
        False,
        "fit a constant for each output, without a penalty; the data option bias=1 adds one with a penalty",
        "intercept",
    ),
)
PENALTY_FACTORS = Setting(
    "penalty_factors",
    part="problem",
    flag="--penalty-factors",
    metavar="adaptive|NAME=V,...",
    help="Multiply λ by V for the weights of these features, or by 1/|w| of a ridge; by default by 1.",
    codec=PenaltyFactorsCodec(),
    in_record="penalty_factors",
    in_address="penalty_factors",
)
BREAKS = Setting(
    "breaks",
    part="limits",
    flag="--break",
    metavar="EXPR",
    help="End a run at the first iterate where this holds, as nnz > 100.",
    codec=ConditionsCodec(),
    commands=("run",),
)
LAM_CHANGES = Setting(
    "lams",
    part="experiment",
    flag="--lam-at",
    metavar="ITERATION=X",
    help="λ from this iterate on, as changed on the page during a run.",
    codec=LamChangesCodec(),
    commands=("run",),
)
REPEAT = Setting(
    "repeat",
    part="",
    flag="--repeat",
    metavar="N",
    help="Run each solver N times, random ones with the next seeds; prints medians.",
    codec=NumberCodec(low=1, kind=int),
    commands=(),
    page_field=PageField(
        1,
        "runs of each solver, random ones with the next seeds: plots show median and band",
        "runs of each solver",
        low=1,
        high=MOST_REPEATS,
    ),
    in_run_form=True,
)

#: All settings declared above, in the order of a command line and of the parameters of an address.
SETTINGS: tuple[Setting, ...] = tuple(one for one in tuple(vars().values()) if isinstance(one, Setting))
#: The order in which the help of a command lists settings; those that are not named here come last.
IN_HELP = (
    *(LOSS, PENALTY, LAM, LAM_RATIO, LAM_CHANGES, F_STAR, BREAKS, ORIGIN, AVERAGE, INTERCEPT),
    *(PENALTY_FACTORS, SET, LOSS_PARAMS, PENALTY_PARAMS, OPTIONS, TOL, GAP, MAX_ITER, MAX_SECONDS),
    *(SEED, THREADS),
)
#: Settings that an address has.
IN_ADDRESS = tuple(one for one in SETTINGS if one.in_address)
#: Name in an address of the check on whose finding the page opens, and the end of the file with its sentence.
FINDING, FINDING_SUFFIX = "finding", ".finding"
#: Settings in the form of the runs, their limits first.
IN_RUN_FORM = tuple(
    sorted((one for one in SETTINGS if one.in_run_form), key=lambda one: one.part != "limits")
)


def in_help(command: str) -> list[Setting]:
    """Return the settings of a command, in the order of its help text."""
    taken = [one for one in SETTINGS if command in one.commands]
    return sorted(taken, key=lambda one: IN_HELP.index(one) if one in IN_HELP else len(IN_HELP))


def of_part(part: str) -> list[Setting]:
    """Return the settings that belong to a part of an experiment."""
    return [one for one in SETTINGS if one.part == part]


def parse_part(part: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the options that belong to a part of an experiment; return values by name.

    Raises ValueError if an option is invalid.
    """
    return {one.name: one.parse(given.get(one.name)) for one in of_part(part)}
