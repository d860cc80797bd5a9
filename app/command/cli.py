# ruff: noqa: B008 (an option is declared as the default of its parameter)
"""The command line of ``solverscope``."""

from __future__ import annotations

import itertools
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

import solverscope

from .. import plugins
from ..settings import arguments
from . import printing, signals, streams
from .exit_status import BAD_INPUT, FINISHED, INTERRUPTED, NOT_WRITTEN
from .options import (
    AVERAGE,
    CHOOSE,
    DATASET,
    JSON,
    LOSS_SET,
    LOSSES,
    OUT,
    PENALTIES,
    PENALTY_SET,
    PLUGIN,
    SOLVER,
    also,
    argument,
    cluster,
    experiment,
    option,
    options,
    switch,
)

APP = Path(__file__).resolve().parents[1]

# neither boxes nor tracebacks: main() says in one line what is wrong
app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        streams.put(f"solverscope {solverscope.__version__}\n")
        raise typer.Exit


@app.callback()
def solverscope_(
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Watch convex solvers shrink, search and converge: without a page, or serve the page."""


@app.command("list")
def list_(
    kind: str = argument("{datasets,losses,penalties,solvers,stories,views,rules,fields,traits}"),
    why: bool = switch("--why", "Say why what is not available is not."),
    as_json: bool = JSON,
    plugin: list[str] = PLUGIN,
) -> int:
    """List what there is to choose from."""
    from .listing import entries

    plugins.load_all(plugin)
    found = entries(kind)
    if as_json:
        streams.put_json(found)
    else:
        printing.show_entries(kind, found, why)
    return FINISHED


@app.command()
@also(experiment)
def run(
    dataset: str | None = argument(*DATASET, default=None),
    solver: list[str] = options(*SOLVER),
    loss: str | None = option("--loss", "ID", "Loss; by default the data set's."),
    penalty: str | None = option("--penalty", "ID", "Penalty; by default the data set's."),
    lam: str | None = option("--lam", "X", "λ."),
    lam_ratio: str | None = option("--lam-ratio", "R", "λ as a share of λ_max, where all is zero."),
    lam_at: list[str] = options(
        "--lam-at", "ITERATION=X", "λ from this iterate on, as changed on the page during a run."
    ),
    f_star: str | None = option("--f-star", "X|auto", "f*, or solve for it once and remember it."),
    break_: list[str] = options(
        "--break", "EXPR", "End a run at the first iterate where this holds, as nnz > 100."
    ),
    from_: str | None = option(
        "--from",
        "FILE[#LABEL]@ITERATION",
        "Go on from an iterate of a run that --out wrote, with its problem and, where nothing else is "
        "given, its solver and hyper-parameters.",
    ),
    shards: str | None = option(
        "--shards", "K", "Split the rows over K workers of a Dask cluster, which run each solver."
    ),
    scheduler: str | None = option(
        "--scheduler", "ADDRESS", "Dask scheduler of --shards; by default one on this machine."
    ),
    repeat: str | None = option(
        "--repeat", "N", "Run each solver N times, random ones with the next seeds; prints medians."
    ),
    as_json: bool = JSON,
    out: str | None = OUT,
    plugin: list[str] = PLUGIN,
    **common: Any,
) -> int:
    """Run solvers on a problem, one after another. Without limits: --tol 1e-6 --max-seconds 600."""
    from ..settings.experiment import Experiment
    from . import headless
    from .shards import place_of

    plugins.load_all(plugin)
    if shards is not None and from_ is not None:
        raise ValueError("--from replays a run on this machine: leave --shards out")
    if repeat is not None and from_ is not None:
        raise ValueError("--from goes on from one run: leave --repeat out")
    count = arguments.number("--shards", shards, low=1, kind=int)
    split = place_of(count, scheduler)
    if from_ is None and (dataset is None or not solver):
        missing = "argument 'DATASET'" if dataset is None else "option '--solver'"
        raise ValueError(f"Missing {missing}. See solverscope --help.")
    experiment = Experiment.from_arguments(
        dataset,
        solver,
        **{"loss": loss, "penalty": penalty, "lam": lam, "lam_ratio": lam_ratio, "lam_at": lam_at},
        **{"f_star": f_star, "break_": break_, "from_": from_, **common},
    )
    labels = None
    if (times := arguments.number("--repeat", repeat, low=1, kind=int)) is not None:
        experiment, labels = experiment.repeated(times)
    execute = partial(headless.execute, experiment, out=_out(out), shards=split)
    return _do(execute, as_json, partial(printing.show_results, printing.RUN, labels=labels))


@app.command()
def race(
    names: list[str] = argument("[NAME]...", "By default all whose data are at hand.", default=[]),
    max_seconds: str = option("--max-seconds", "S", "CPU seconds of each run at most.", "60"),
    as_json: bool = JSON,
    out: str | None = option("--out", "FILE.html", "Write the plots as a page, too."),
) -> int:
    """Race ours against all other programs that are installed: ocr, conll, mnist, a9a, breast-cancer."""
    from . import race as races

    if out is not None and not out.endswith(".html"):
        raise ValueError(f"--out {out} is not possible: name a file that ends in .html")
    page = None if out is None else Path(out)
    return _do(partial(races.execute, names, max_seconds, page), as_json, races.show)


@app.command()
@also(experiment)
def path(
    dataset: str = argument(*DATASET),
    solver: list[str] = option(*SOLVER, default=...),
    loss: list[str] = LOSSES,
    penalty: list[str] = PENALTIES,
    lams: str | None = option("--lams", "X,X,...", "The values of λ, in this order."),
    lam_from: str | None = option("--lam-from", "X", "First λ, with --lam-to."),
    lam_to: str | None = option("--lam-to", "X", "Last λ, with --lam-from."),
    ratio_from: str | None = option("--ratio-from", "R", "First λ as a share of λ_max; by default 1."),
    ratio_to: str | None = option("--ratio-to", "R", "Last λ as a share of λ_max; by default 0.01."),
    n_lams: str | None = option("--n-lams", "N", "Log-spaced values of λ; by default 10."),
    f_star: str | None = option("--f-star", "auto", "Solve for f* at every λ and remember it."),
    as_json: bool = JSON,
    iterates: bool = typer.Option(
        True, "--iterates/--no-iterates", help="Whether records of iterates are wanted."
    ),
    choose: str | None = CHOOSE,
    out: str | None = OUT,
    plugin: list[str] = PLUGIN,
    **common: Any,
) -> int:
    """Run solvers over a range of λ, each from the solution before. Limits are those of run, at every λ."""
    from ..settings.experiment import Experiment
    from ..sweep.choice import checked
    from . import path as paths

    plugins.load_all(plugin)
    chosen, _ = checked(choose)
    if f_star not in (None, "auto"):
        raise ValueError(f"--f-star {f_star} is not possible: every λ has its own, write --f-star auto")
    experiments = [
        Experiment.from_arguments(dataset, solver, loss=one, penalty=other, f_star=f_star, **common)
        for one, other in itertools.product(loss or [None], penalty or [None])
    ]
    ends = {"--lam-from": lam_from, "--lam-to": lam_to, "--ratio-from": ratio_from, "--ratio-to": ratio_to}
    values = arguments.lam_values(lams, n_lams, ends)
    execute = partial(
        paths.execute, experiments, lams=values, iterates=iterates, choose=bool(chosen), out=_out(out)
    )
    return _do(execute, as_json, partial(printing.show_results, printing.PATH))


def _out(out: str | None) -> Path | None:
    from solverscope.solvers.runs.trace import checked_path

    return None if out is None else checked_path(out)


def _do(execute: Callable[..., int], as_json: bool, show: Callable[[list[dict[str, Any]]], None]) -> int:
    """Call ``execute(emit=..., progress=...)``. Its records are printed as JSON lines, or those that are no
    iterates are given to ``show`` at the end."""
    from .headless import print_json
    from .progress_bar import Progress

    progress = Progress(moving=not (as_json and sys.stdout.isatty()))
    if as_json:
        return execute(emit=print_json, progress=progress)
    records: list[dict[str, Any]] = []

    def keep(record: dict[str, Any]) -> None:
        if record["type"] != "iterate":
            records.append(record)

    try:
        return execute(emit=keep, progress=progress)
    finally:
        show(records)


def _place(scheduler: str | None, workers: str | None, threads_per_worker: str) -> Any:
    """Return where a sweep is to run; ValueError, one sentence, where it cannot."""
    from ..sweep.cluster import Place, why_no_dask

    if reason := why_no_dask():
        raise ValueError(reason)
    if scheduler is not None and workers is not None:
        raise ValueError("give --scheduler or --workers, not both: a scheduler has workers of its own")
    return Place(
        scheduler,
        arguments.number("--workers", workers, low=1, kind=int),
        arguments.number("--threads-per-worker", threads_per_worker, low=1, kind=int),
    )


@app.command()
@also(cluster)
def sweep(
    spec: str = argument("SPEC", "A .toml or .json file: data, λ, solvers, seeds, limits."),
    choose: str | None = CHOOSE,
    folds: str | None = option(
        "--folds", "K", "With --choose: hold out each of K parts of the training part in turn."
    ),
    out: str | None = option("--out", "FOLDER", "Where results are kept; by default SPEC.sweep, here."),
    **common: Any,
) -> int:
    """Run a grid of data sets, λ, solvers, hyper-parameters and seeds on Dask."""
    from ..sweep.cell_store import Store
    from ..sweep.driver import Sweep
    from ..sweep.spec import Spec
    from . import sweep as sweeps

    as_json, plugin, resume = (common.pop(name) for name in ("as_json", "plugin", "resume"))
    plugins.load_all(plugin)
    place, path = _place(**common), Path(spec)
    also = {name: value for name, value in (("choose", choose), ("folds", folds)) if value is not None}
    store = Store(Path(f"{path.stem}.sweep" if out is None else out))
    made = Sweep(Spec.read(path, **also), place, store, resume=resume)
    return _do(partial(sweeps.execute, made), as_json, printing.show_cells)


@app.command()
@also(cluster)
def paper(
    id: str | None = argument("ID", "A paper; without one all are listed.", default=None),
    figure: str | None = argument(
        "FIGURE", "A figure or table, or all; without one they are listed.", default=None
    ),
    budget: str | None = option("--budget", "T", "Time for all of its runs, as 90s, 5m, 2h; by default 5m."),
    out: str | None = option("--out", "FOLDER", "Where page and results are kept; by default ID.paper."),
    **common: Any,
) -> int:
    """Run figures and tables of a paper; write them beside the paper's, with verdicts, as one HTML page."""
    from . import paper as papers

    as_json, plugin, resume = (common.pop(name) for name in ("as_json", "plugin", "resume"))
    plugins.load_all(plugin)
    if id is None or figure is None:
        papers.show(id, as_json)
        return FINISHED
    seconds = papers.budget(budget)
    execute = partial(papers.execute, id, figure, seconds, _place(**common), out, resume=resume)
    return _do(execute, as_json, printing.show_exhibits)


history = typer.Typer(rich_markup_mode=None)
app.add_typer(history, name="runs")


@history.callback(invoke_without_command=True)
def runs(context: typer.Context, as_json: bool = JSON) -> None:
    """List the runs that are kept, of pages and of files; import and export them."""
    from . import runs

    if context.invoked_subcommand is None:
        found = runs.entries()
        if as_json:
            streams.put_json(found)
        else:
            printing.show_runs(found)


@history.command("import")
def import_(
    file: list[str] = argument("FILE...", "What `run --out` wrote."),
) -> int:
    """Put runs of .jsonl or .npz files among those that are kept: a page can then show them."""
    from . import runs

    for id in runs.add(file):
        streams.put(f"{id}\n")
    return FINISHED


@history.command()
def export(
    run: str = argument("ID", "See `solverscope runs`."),
    format: str | None = option("--format", "jsonl|csv", "What is printed; by default jsonl."),
    out: str | None = OUT,
) -> int:
    """Print the records of a run, or write them to a file."""
    from . import runs

    id = arguments.number("ID", run, low=1, kind=int)
    if format is not None and out is not None:
        raise ValueError("give --format or --out, not both: the name of the file says in which form it is")
    if format not in (None, *runs.FORMATS):
        raise ValueError(f"--format {format} is not possible: choose one of {', '.join(runs.FORMATS)}")
    streams.put(runs.export(id, _out(out), format or runs.FORMATS[0]))
    return FINISHED


benchmarks = typer.Typer(
    rich_markup_mode=None, help="Our solvers in benchopt, a program that compares solvers."
)
app.add_typer(benchmarks, name="benchopt")


@benchmarks.command("export")
def export_benchmark(
    folder: str = argument("DIR", "A new folder."),
    dataset: list[str] = argument("DATASET[,name=value,...]...", "See `solverscope list datasets`."),
    solver: list[str] = option(*SOLVER, default=...),
    loss: list[str] = LOSSES,
    penalty: list[str] = PENALTIES,
    lam: list[str] = options("--lam", "X", "λ; by default the data set's. Repeat it for several."),
    lam_ratio: list[str] = options("--lam-ratio", "R", "λ as a share of λ_max. Repeat it for several."),
    average: bool | None = AVERAGE,
    loss_set: list[str] = LOSS_SET,
    penalty_set: list[str] = PENALTY_SET,
    seed: list[str] = options("--seed", "N", "Seed of splits and generators. Repeat it for several."),
    plugin: list[str] = PLUGIN,
) -> int:
    """Write a benchmark folder for `benchopt run`, whose files take all from this installation."""
    from ..sweep.spec import Spec
    from . import benchopt

    plugins.load_all(plugin)
    said = {
        **{"name": Path(folder).name, "data": dataset, "solvers": solver, "loss": loss, "penalty": penalty},
        "lam": [arguments.number("--lam", value, above=0) for value in lam],
        "lam_ratio": [arguments.number("--lam-ratio", value, above=0) for value in lam_ratio],
        "average": average,
        "loss_set": arguments.assignments("--loss-set", loss_set),
        "penalty_set": arguments.assignments("--penalty-set", penalty_set),
        "seeds": [arguments.number("--seed", value, low=0, kind=int) for value in seed],
    }
    spec = Spec.of({name: value for name, value in said.items() if value not in ([], {}, None)})
    streams.put("".join(f"{path}\n" for path in benchopt.export(Path(folder), spec)))
    return FINISHED


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def serve(
    context: typer.Context,
    memory: str | None = option(
        "--memory", "SIZE", "Memory to use, such as 8G; by default half, at most 8G."
    ),
    data: list[str] = options(
        "--data",
        "FILE",
        "Data of your own for the page's menu, also FORMAT:FILE as of `run`; repeat it for several.",
    ),
    host: list[str] = options(
        "--host", "NAME", "A name the server answers to besides localhost, 127.0.0.1 and [::1]."
    ),
    trusted_proxy: list[str] = options(
        "--trusted-proxy",
        "NAME",
        "The name by which you call a proxy on this machine that lets in nobody but you, such as JupyterHub: "
        "its visitor may do what you may.",
    ),
    scheduler: list[str] = options(
        "--scheduler", "ADDRESS", "A Dask scheduler for sweeps of the page, as tcp://host:port."
    ),
    plugin: list[str] = PLUGIN,
    public: bool = switch("--public", "Admit everybody, at all addresses of this machine."),
) -> int:
    """Serve the page to this machine: `panel serve app`, with further options passed on."""
    from solverscope import datasets

    from ..serving import serve_options as serving

    plugins.load_all(plugin)
    for file in data:  # read here: what is wrong is said at once
        datasets.offer(file)
    bound = [] if public else ["--address", "localhost"]
    named = [(serving.HOST, serving.name(serving.HOST, one)) for one in host]
    named += [(serving.TRUSTED_PROXY, serving.name(serving.TRUSTED_PROXY, one)) for one in trusted_proxy]
    named += [(serving.SCHEDULER, serving.address(one)) for one in scheduler]
    if memory is not None:
        named.append((serving.MEMORY, str(serving.size(memory))))
    options = [*itertools.chain(*named), *[serving.PUBLIC] * public]
    marker = [] if "--args" in context.args or not options else ["--args"]  # after it all is for the page
    from panel.command import main as panel  # takes seconds, and what is wrong has been said by now

    sys.argv = ["panel", "serve", str(APP), *bound, *context.args, *marker, *options]
    try:
        panel()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else FINISHED if ended.code is None else 1
    return FINISHED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status, after one line on standard error if it is 2 or 4."""
    status = BAD_INPUT
    try:
        with signals.interrupting() as interrupted:
            given = _legible(sys.argv[1:] if arguments is None else arguments)
            status = app(given, prog_name="solverscope", standalone_mode=False) or FINISHED
            if not interrupted():
                return status
            message, status = "interrupted", INTERRUPTED  # Typer makes an exit status of it
    except KeyboardInterrupt:
        message, status = "interrupted", INTERRUPTED
    except SystemExit as ended:  # so Typer ends when the reader of a pipe has closed it
        if ended.code == 0:  # and when it has answered a shell that completes a word
            return FINISHED
        streams.abandon_output()
        return INTERRUPTED
    except typer.TyperException as error:
        message = f"{error.format_message()} See solverscope --help."
    except MemoryError:
        message = "out of memory: take a smaller problem"
    except ValueError as error:
        message = str(error)
    except (ImportError, OSError) as error:
        if streams.is_lack_of_memory(error):
            message = streams.LACK_OF_MEMORY
        elif isinstance(error, ImportError):
            raise
        else:
            from solverscope.solvers.runs.atomic_files import NotWritten, why_not_written

            # whatever is wrong with a file that is read is a ValueError
            status = NOT_WRITTEN
            reason, advice = why_not_written(error)
            message = str(error) if isinstance(error, NotWritten) else f"not written, for {reason}: {advice}"
    except Exception as error:
        message = plugins.blamed(error)
        if message is None:
            raise
    streams.Listener(sys.stderr).write("solverscope: " + " ".join(message.split()) + "\n")
    return status


def _legible(arguments: Sequence[str]) -> list[str]:
    """Check and return the arguments; ValueError for one with a control character, which no name, number or
    path needs."""
    for word in arguments:
        if any(unicodedata.category(letter) == "Cc" for letter in word):
            raise ValueError(f"the word {word!r} holds a control character: leave that out")
    return list(arguments)
