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
from ..settings.columns import PATH_TABLE, REPEATED_TABLE, RUN_TABLE
from ..settings.settings_table import (
    AVERAGE,
    DATA,
    ENTRANTS,
    F_STAR,
    INTERCEPT,
    LAM,
    LAM_RATIO,
    LOSS_PARAMS,
    MAX_SECONDS,
    ORIGIN,
    PENALTY_FACTORS,
    PENALTY_PARAMS,
    REPEAT,
    SEED,
)
from . import printing, signals, streams
from .desktop import open_
from .exit_status import BAD_INPUT, FINISHED, INTERRUPTED, NOT_WRITTEN
from .history import diff, history
from .options import (
    CHOOSE_OPTION,
    FOLDS_OPTION,
    JSON_OPTION,
    LOSSES_OPTION,
    OUT_OPTION,
    PENALTIES_OPTION,
    PLUGIN_OPTION,
    REQUIRE_OPTION,
    also,
    argument,
    cluster,
    option,
    option_of,
    options,
    switch,
    takes_settings,
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
    ids: list[str] = argument("[ID]...", "Say all about these.", default=[]),
    why: bool = switch("--why", "Say why what is not available is not."),
    as_json: bool = JSON_OPTION,
    plugin: list[str] = PLUGIN_OPTION,
) -> int:
    """List the available data sets, losses, penalties, solvers, stories, views, rules, fields or traits."""
    from .listing import entries

    plugins.load_all(plugin)
    found = entries(kind, ids)
    if as_json:
        streams.put_json(found)
    elif ids:
        printing.show_details(found)
    else:
        printing.show_entries(kind, found, why)
    return FINISHED


@app.command()
@takes_settings("run")
def run(
    dataset: str | None = argument(DATA.metavar, DATA.help, default=None),
    solver: list[str] = option_of(ENTRANTS),
    shards: str | None = option(
        "--shards", "K", "Split the rows over K workers of a Dask cluster, which run each solver."
    ),
    scheduler: str | None = option(
        "--scheduler", "ADDRESS", "Dask scheduler of --shards; by default one on this machine."
    ),
    repeat: str | None = option_of(REPEAT),
    require: list[str] = REQUIRE_OPTION,
    as_json: bool = JSON_OPTION,
    out: str | None = OUT_OPTION,
    plugin: list[str] = PLUGIN_OPTION,
    **given: Any,
) -> int:
    """Run solvers on a problem, one after another. Default limits: --tol 1e-6 --max-seconds 600."""
    from ..settings.experiment import Experiment
    from . import headless
    from .shards import place_of

    plugins.load_all(plugin)
    continued = given[ORIGIN.name] is not None
    if shards is not None and continued:
        raise ValueError("--from replays a run on this machine: leave --shards out")
    if repeat is not None and continued:
        raise ValueError("--from goes on from one run: leave --repeat out")
    count = arguments.number("--shards", shards, low=1, kind=int)
    split = place_of(count, scheduler)
    if not continued and (dataset is None or not solver):
        missing = "argument 'DATASET'" if dataset is None else "option '--solver'"
        raise ValueError(f"Missing {missing}. See solverscope --help.")
    experiment = Experiment.from_arguments(dataset, solver, **given)
    columns, labels = RUN_TABLE, None
    if (times := REPEAT.parse(repeat)) is not None:
        columns = REPEATED_TABLE
        experiment, labels = experiment.repeated(times)
    how = {"out": _out(out), "shards": split, "require": headless.requirements(require)}
    execute = partial(headless.execute, experiment, **how)
    return _do(execute, as_json, partial(printing.show_results, columns, labels=labels))


@app.command()
def race(
    names: list[str] = argument("[NAME]...", "By default all whose data are at hand.", default=[]),
    max_seconds: str = option_of(MAX_SECONDS, "CPU seconds of each run at most.", default="60"),
    as_json: bool = JSON_OPTION,
    out: str | None = option("--out", "FILE.html", "Write the plots as a page, too."),
) -> int:
    """Race our solvers against all other installed programs: ocr, conll, mnist, a9a, breast-cancer."""
    from . import race as races

    if out is not None and not out.endswith(".html"):
        raise ValueError(f"--out {out} is not possible: name a file that ends in .html")
    page = None if out is None else Path(out)
    return _do(partial(races.execute, names, max_seconds, page), as_json, races.show)


@app.command()
@takes_settings("path")
def path(
    dataset: str = argument(DATA.metavar, DATA.help),
    solver: list[str] = option_of(ENTRANTS, default=...),
    loss: list[str] = LOSSES_OPTION,
    penalty: list[str] = PENALTIES_OPTION,
    lams: str | None = option("--lams", "X,X,...", "The values of λ, in this order."),
    lam_from: str | None = option("--lam-from", "X", "First λ, with --lam-to."),
    lam_to: str | None = option("--lam-to", "X", "Last λ, with --lam-from."),
    ratio_from: str | None = option("--ratio-from", "R", "First λ as a share of λ_max; by default 1."),
    ratio_to: str | None = option("--ratio-to", "R", "Last λ as a share of λ_max; by default 0.01."),
    n_lams: str | None = option("--n-lams", "N", "Log-spaced values of λ; by default 10."),
    f_star: str | None = option_of(F_STAR, "Solve for f* at every λ and remember it.", metavar="auto"),
    as_json: bool = JSON_OPTION,
    iterates: bool = typer.Option(
        True, "--iterates/--no-iterates", help="Whether records of iterates are wanted."
    ),
    choose: str | None = CHOOSE_OPTION,
    folds: str | None = FOLDS_OPTION,
    require: list[str] = REQUIRE_OPTION,
    out: str | None = OUT_OPTION,
    plugin: list[str] = PLUGIN_OPTION,
    **given: Any,
) -> int:
    """Run solvers over a range of λ with warm starts. Limits are those of `run`, for each λ."""
    from ..settings.experiment import Experiment
    from ..sweep.lam_selection import checked
    from . import headless
    from . import path as paths

    plugins.load_all(plugin)
    chosen, parts = checked(choose, folds)
    if f_star not in (None, "auto"):
        raise ValueError(f"--f-star {f_star} is not possible: every λ has its own, write --f-star auto")
    experiments = [
        Experiment.from_arguments(dataset, solver, loss=one, penalty=other, f_star=f_star, **given)
        for one, other in itertools.product(loss or [None], penalty or [None])
    ]
    ends = {"--lam-from": lam_from, "--lam-to": lam_to, "--ratio-from": ratio_from, "--ratio-to": ratio_to}
    values = arguments.lam_values(lams, n_lams, ends)
    how = {"lams": values, "iterates": iterates, "choose": bool(chosen), "folds": parts, "out": _out(out)}
    how["require"] = headless.requirements(require)
    execute = partial(paths.execute, experiments, **how)
    return _do(execute, as_json, partial(printing.show_results, PATH_TABLE))


def _out(out: str | None) -> Path | None:
    from solverscope.solvers.traces.trace import checked_path

    return None if out is None else checked_path(out)


def _do(execute: Callable[..., int], as_json: bool, show: Callable[[list[dict[str, Any]]], None]) -> int:
    """Call ``execute(emit=..., progress=...)`` and return its exit status.

    Its records are printed as JSON lines if ``as_json``. Otherwise all but the iterates are passed to
    ``show`` at the end.
    """
    from .headless import print_json
    from .progress_bar import ProgressBar

    progress = ProgressBar(moving=not (as_json and sys.stdout.isatty()))
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
    """Return the cluster on which a sweep runs. Raises ValueError if it cannot be used."""
    from ..sweep.cluster import ClusterSpec, why_no_dask

    if reason := why_no_dask():
        raise ValueError(reason)
    if scheduler is not None and workers is not None:
        raise ValueError("give --scheduler or --workers, not both: a scheduler has workers of its own")
    return ClusterSpec(
        scheduler,
        arguments.number("--workers", workers, low=1, kind=int),
        arguments.number("--threads-per-worker", threads_per_worker, low=1, kind=int),
    )


@app.command()
@also(cluster)
def sweep(
    spec: str = argument("SPEC", "A .toml or .json file: data, λ, solvers, seeds, limits."),
    choose: str | None = CHOOSE_OPTION,
    folds: str | None = FOLDS_OPTION,
    out: str | None = option("--out", "FOLDER", "Where results are kept; by default SPEC.sweep, here."),
    **common: Any,
) -> int:
    """Run a grid of data sets, λ, solvers, hyper-parameters and seeds on Dask."""
    from ..sweep.cell_store import Store
    from ..sweep.driver import SweepDriver
    from ..sweep.spec import Spec
    from . import sweep as sweeps

    as_json, plugin, resume = (common.pop(name) for name in ("as_json", "plugin", "resume"))
    plugins.load_all(plugin)
    place, path = _place(**common), Path(spec)
    also = {name: value for name, value in (("choose", choose), ("folds", folds)) if value is not None}
    store = Store(Path(f"{path.stem}.sweep" if out is None else out))
    made = SweepDriver(Spec.read(path, **also), place, store, resume=resume)
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
    """Run figures and tables of a paper, and compare them with the paper's in an HTML page with verdicts."""
    from . import paper as papers

    as_json, plugin, resume = (common.pop(name) for name in ("as_json", "plugin", "resume"))
    plugins.load_all(plugin)
    if id is None or figure is None:
        papers.show(id, as_json)
        return FINISHED
    seconds = papers.budget(budget)
    execute = partial(papers.execute, id, figure, seconds, _place(**common), out, resume=resume)
    return _do(execute, as_json, printing.show_exhibits)


app.add_typer(history, name="runs")
app.command()(diff)
app.command("open")(open_)


@app.command()
def check(
    file: str = argument("FILE", "A plug-in: what it registers is checked."),
    solver: list[str] = options("--solver", "ID[,name=value,...]", "Check this solver alone; repeatable."),
    twin: str | None = option(
        "--twin", "ID[,name=value,...]", "A solver whose iterates should be the same: say where they differ."
    ),
    as_json: bool = JSON_OPTION,
    junit: str | None = option("--junit", "FILE.xml", "Write a test case for each check, for graders."),
) -> int:
    """Check your own solver, loss, penalty or data set. The exit status is 1 if something is found."""
    from . import check as checks
    from .progress_bar import ProgressBar

    if junit is not None and not junit.endswith(".xml"):
        raise ValueError(f"--junit {junit} is not possible: name a file that ends in .xml")
    path = None if junit is None else Path(junit)
    progress = ProgressBar(moving=not as_json)
    return checks.execute(file, solver, twin, as_json=as_json, junit=path, progress=progress)


@app.command()
def why(
    run: str = argument("RUN", "A run: its id in `solverscope runs`, or FILE[#LABEL] of --out."),
    prove: bool = typer.Option(True, "--prove/--no-prove", help="Whether experiments of findings are run."),
    as_json: bool = JSON_OPTION,
    plugin: list[str] = PLUGIN_OPTION,
) -> int:
    """List reasons why a run is slow, the costliest first, with experiments that confirm or refute them."""
    from . import why as whys

    plugins.load_all(plugin)
    return _do(partial(whys.execute, run, prove=prove), as_json, whys.show)


benchmarks = typer.Typer(
    rich_markup_mode=None, help="Our solvers in benchopt, a program that compares solvers."
)
app.add_typer(benchmarks, name="benchopt")


@benchmarks.command("export")
def export_benchmark(
    folder: str = argument("DIR", "A new folder."),
    dataset: list[str] = argument("DATASET[,name=value,...]...", DATA.help),
    solver: list[str] = option_of(ENTRANTS, default=...),
    loss: list[str] = LOSSES_OPTION,
    penalty: list[str] = PENALTIES_OPTION,
    lam: list[str] = option_of(LAM, "λ; by default the data set's. Repeat it for several.", repeated=True),
    lam_ratio: list[str] = option_of(
        LAM_RATIO, "λ as a share of λ_max. Repeat it for several.", repeated=True
    ),
    average: bool | None = option_of(AVERAGE),
    intercept: bool | None = option_of(INTERCEPT),
    penalty_factors: str | None = option_of(PENALTY_FACTORS),
    loss_set: list[str] = option_of(LOSS_PARAMS),
    penalty_set: list[str] = option_of(PENALTY_PARAMS),
    seed: list[str] = option_of(SEED, "Seed of splits and generators. Repeat it for several.", repeated=True),
    plugin: list[str] = PLUGIN_OPTION,
) -> int:
    """Write a benchmark folder for `benchopt run`, whose files import everything from this installation."""
    from ..benchopt import export
    from ..sweep.spec import Spec

    plugins.load_all(plugin)
    said = {
        **{"name": Path(folder).name, "data": dataset, "solvers": solver, "loss": loss, "penalty": penalty},
        "lam": [LAM.parse(value) for value in lam],
        "lam_ratio": [LAM_RATIO.parse(value) for value in lam_ratio],
        "average": average,
        "intercept": intercept,
        "penalty_factors": PENALTY_FACTORS.parse(penalty_factors),
        "loss_set": LOSS_PARAMS.parse(loss_set),
        "penalty_set": PENALTY_PARAMS.parse(penalty_set),
        "seeds": [SEED.parse(value) for value in seed],
    }
    spec = Spec.of({name: value for name, value in said.items() if value not in ([], {}, None)})
    streams.put("".join(f"{path}\n" for path in export.write_benchmark(Path(folder), spec.name, spec.cells)))
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
    plugin: list[str] = PLUGIN_OPTION,
    public: bool = switch("--public", "Admit everybody, at all addresses of this machine."),
) -> int:
    """Serve the page on this machine by `panel serve app`, to which further options are passed on."""
    from solverscope import datasets

    from ..serving import serve_options as serving

    plugins.load_all(plugin)
    for file in data:  # read here: what is wrong is said at once
        datasets.offer(file)
    bound = [] if public else ["--address", "localhost"]
    named = [(serving.HOST_FLAG, serving.name(serving.HOST_FLAG, one)) for one in host]
    named += [
        (serving.TRUSTED_PROXY_FLAG, serving.name(serving.TRUSTED_PROXY_FLAG, one)) for one in trusted_proxy
    ]
    named += [(serving.SCHEDULER_FLAG, serving.address(one)) for one in scheduler]
    if memory is not None:
        named.append((serving.MEMORY_FLAG, str(serving.size(memory))))
    options = [*itertools.chain(*named), *[serving.PUBLIC_FLAG] * public]
    marker = [] if "--args" in context.args or not options else ["--args"]  # after it all is for the page
    from panel.command import main as panel  # takes seconds, and what is wrong has been said by now

    sys.argv = ["panel", "serve", str(APP), *bound, *context.args, *marker, *options]
    try:
        panel()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else FINISHED if ended.code is None else 1
    return FINISHED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. If that is 2 or 4, one line is written to
    standard error."""
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
            from solverscope.solvers.compute.atomic_files import NotWritten, why_not_written

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
    """Check the arguments and return them.

    Raises ValueError if one contains a control character, as names, numbers and paths need none.
    """
    for word in arguments:
        if any(unicodedata.category(letter) == "Cc" for letter in word):
            raise ValueError(f"the word {word!r} holds a control character: leave that out")
    return list(arguments)
