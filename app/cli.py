"""The command line: ``solverscope list``, ``run`` and ``serve``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import arguments, plugins, printing
from .exit_status import BAD_INPUT, FINISHED, INTERRUPTED

ROOT = Path(__file__).resolve().parent.parent

# neither boxes nor tracebacks: main() says in one line what is wrong
app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Watch convex solvers shrink, search and converge: without a page, or serve the page.",
)

Plugins = Annotated[
    list[str],
    typer.Option(
        "--plugin", metavar="FILE", help="Python file that registers your own solver, loss or data."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON lines on standard output, and nothing else there.")]


def _option(flag: str, metavar: str, help: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help)


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="{datasets,losses,penalties,solvers,stories}")],
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> int:
    """List what there is to choose from."""
    from .listing import entries

    plugins.load_all(plugin)
    found = entries(kind)
    if as_json:
        for entry in found:
            print(json.dumps(entry))
    else:
        printing.show_entries(kind, found)
    return FINISHED


@app.command()
def run(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="See `solverscope list datasets`.")],
    solver: Annotated[
        list[str],
        _option("--solver", "[LABEL=]ID[,name=value,...]", "A solver to run; repeat it for several."),
    ],
    loss: Annotated[str | None, _option("--loss", "ID", "Loss; by default the data set's.")] = None,
    penalty: Annotated[str | None, _option("--penalty", "ID", "Penalty; by default the data set's.")] = None,
    lam: Annotated[str | None, _option("--lam", "X", "λ.")] = None,
    lam_ratio: Annotated[
        str | None, _option("--lam-ratio", "R", "λ as a share of λ_max, where all is zero.")
    ] = None,
    average: Annotated[
        bool | None,
        typer.Option(
            "--average/--sum", help="Mean or sum over instances; by default the paper's.", show_default=False
        ),
    ] = None,
    set_: Annotated[
        list[str], _option("--set", "[LABEL.]name=value", "Hyper-parameter of the solvers that have it.")
    ] = [],  # noqa: B006
    loss_set: Annotated[list[str], _option("--loss-set", "name=value", "Parameter of the loss.")] = [],  # noqa: B006
    penalty_set: Annotated[
        list[str], _option("--penalty-set", "name=value", "Parameter of the penalty.")
    ] = [],  # noqa: B006
    option: Annotated[list[str], _option("--option", "name=value", "Option of the data set.")] = [],  # noqa: B006
    tol: Annotated[
        str | None, _option("--tol", "EPS", "Stop at a violation of EPS times that at w = 0.")
    ] = None,
    gap: Annotated[str | None, _option("--gap", "EPS", "Stop at (f - f*)/|f*| of EPS.")] = None,
    f_star: Annotated[
        str | None, _option("--f-star", "X|auto", "f*, or solve for it once and remember it.")
    ] = None,
    max_iter: Annotated[str | None, _option("--max-iter", "N", "Stop after N iterations.")] = None,
    max_seconds: Annotated[
        str | None, _option("--max-seconds", "S", "Stop after S CPU seconds of the solver.")
    ] = None,
    seed: Annotated[str, _option("--seed", "N", "Seed of splits, generators and random orders.")] = "0",
    threads: Annotated[str, _option("--threads", "N", "Threads that share the rows of X.")] = "1",
    as_json: Json = False,
    out: Annotated[str | None, _option("--out", "FILE", "Write all to FILE.jsonl, .csv or .npz.")] = None,
    plugin: Plugins = [],  # noqa: B006
) -> int:
    """Run solvers on a problem, one after another. Without limits: --tol 1e-6 --max-seconds 600."""
    from solvers.trace import checked_path

    from . import headless
    from .progress import Progress

    plugins.load_all(plugin)
    limits = {
        "tol": arguments.number("--tol", tol, low=0),
        "gap": arguments.number("--gap", gap, low=0),
        "max_iter": arguments.number("--max-iter", max_iter, low=0, kind=int),
        "max_seconds": arguments.number("--max-seconds", max_seconds, low=0),
    }
    if gap is not None and f_star is None:
        f_star = "auto"
    chosen_seed = arguments.number("--seed", seed, low=0, kind=int)
    task = headless.Task(
        dataset=dataset,
        entrants=arguments.make_solvers(arguments.choices(solver), set_, chosen_seed),
        limits=limits,
        f_star=f_star if f_star == "auto" else arguments.number("--f-star", f_star),
        options=arguments.assignments("--option", option),
        problem={
            "loss": loss,
            "penalty": penalty,
            "lam": arguments.number("--lam", lam, above=0),
            "lam_ratio": arguments.number("--lam-ratio", lam_ratio, above=0),
            "average": average,
            "loss_params": arguments.assignments("--loss-set", loss_set),
            "penalty_params": arguments.assignments("--penalty-set", penalty_set),
            "threads": arguments.number("--threads", threads, low=1, kind=int),
        },
        seed=chosen_seed,
        out=None if out is None else checked_path(out),
    )
    progress = Progress(moving=not (as_json and sys.stdout.isatty()))
    if as_json:
        return headless.execute(task, headless.print_json, progress)
    results = printing.Results()
    try:
        return headless.execute(task, results.take, progress)
    finally:
        results.show()


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def serve(context: typer.Context, plugin: Plugins = []) -> int:  # noqa: B006
    """Serve the page to this machine: `panel serve app`, with further options passed on."""
    files = [str(Path(file).expanduser().resolve()) for file in plugin]
    plugins.load_all(files)
    listed = [*filter(None, [os.environ.get(plugins.VARIABLE)]), *files]
    environment = {**os.environ, plugins.VARIABLE: os.pathsep.join(listed)}
    command = [sys.executable, "-m", "panel", "serve", str(ROOT / "app"), "--address", "localhost"]
    return subprocess.call([*command, *context.args], env=environment)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status, after one line on standard error if it is 2."""
    try:
        return app(arguments, prog_name="solverscope", standalone_mode=False) or FINISHED
    except KeyboardInterrupt:
        return INTERRUPTED
    except typer.TyperException as error:
        message = f"{error.format_message()} See solverscope --help."
    except (ValueError, OSError, MemoryError) as error:
        message = str(error) or "out of memory: take a smaller problem"
    print("solverscope: " + " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT
