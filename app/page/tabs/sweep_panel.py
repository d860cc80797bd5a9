"""The panel of the tab *Sweep*: a grid of runs on processes of this machine or on a Dask cluster."""

from __future__ import annotations

import html
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import panel as pn

from solverscope import datasets
from solverscope.app import ui
from solverscope.app.page.protocols import PanelPage
from solverscope.app.page.tabs.paper_chooser import PaperChooser
from solverscope.app.runs.displayed_run import ExternalRun
from solverscope.app.runs.past_run import LAST_STYLE
from solverscope.app.serving.shutdown import on_shutdown
from solverscope.app.settings.experiment import Experiment, toml
from solverscope.app.settings.own_file_names import named
from solverscope.app.settings.recipe import Recipe, info_of, why_not_data
from solverscope.app.sweep.cell_progress import CellProgress
from solverscope.app.sweep.cell_store import Store
from solverscope.app.sweep.cluster import ClusterSpec, why_no_dask
from solverscope.app.sweep.driver import SweepDriver, counts
from solverscope.app.sweep.lam_selection import TEST, pooled
from solverscope.app.sweep.results import f_stars, gap_of, problem_of, seconds_to
from solverscope.app.sweep.spec import Spec
from solverscope.app.ui import number
from solverscope.app.ui.material_ui import pmui
from solverscope.app.ui.menu import Menu
from solverscope.app.views import Sweep as SweepView
from solverscope.app.views.sweep.sweep_figures import CellOutcome, Chosen
from solverscope.datasets.store import home
from solverscope.solvers import PENALTIES, Problem

#: Ticks between two drawings while cells are active.
SWEEP_REDRAW_TICKS = 4
#: Maximal number of cells of a sweep that are shown with the page's runs.
MOST_OPEN = 12
#: First style of opened cells, which differs from those of the page's own runs and of past runs.
FIRST_OPENED_STYLE = LAST_STYLE - 24 * 40
#: Seconds that a server waits for a sweep when it shuts down.
LAST_SECONDS = 10.0
#: Menu entry for a cluster of processes on this machine.
THIS_MACHINE = "this machine"


class OpenCell(ExternalRun):
    """A cell of a sweep shown with the runs of the page: it is drawn live, and controlled by its sweep."""

    def __init__(self, watched: CellProgress, style: int, problem: Problem | None) -> None:
        label = f"{watched.cell.entrant.label} · {problem_name(watched.cell.problem)}"
        super().__init__(watched.cell.key, label, style, watched.trace, problem)
        self._watched = watched

    @property
    def state(self) -> str:
        return self._watched.state

    @property
    def word(self) -> str:
        return self._watched.word

    def forget(self) -> None:
        """Do nothing, as the cell belongs to the sweep."""


class SweepPanel:
    """The controls of a visitor's sweep, which ends with the page, and the view of its results.

    The visitor can only choose among the clusters that the page's rights list. Schedulers send pickles, so a
    visitor who could name any scheduler could run arbitrary code on the server.
    """

    def __init__(self, page: PanelPage) -> None:
        self._page, self._session, self._rights = page, page.session, page.rights
        self.sweep: SweepDriver | None = None
        self._thread: threading.Thread | None = None
        self._ran = ""
        self._error, self._clicked, self._kept, self._ticks, self._styles = "", "", 0, 0, FIRST_OPENED_STYLE
        page.session.others.append(self.stop)
        small = {"size": "small", "margin": (4, 4)}
        narrow = {"sizing_mode": "stretch_width", "max_width": 430}
        self.text = pmui.TextAreaInput(
            label="What to run: TOML or JSON, as for solverscope sweep",
            rows=8,
            **narrow,
            **(small | {"margin": (8, 4, 4, 4)}),  # its label stands on its upper edge
        )
        self.fill = pmui.Button(label="From the page", icon="content_paste", variant="text", **small)
        self.button = pmui.Button(label="Run the sweep", icon="grid_on", variant="outlined", **small)
        self.hold = pmui.Button(label="Pause", variant="text", disabled=True, **small)
        self.end = pmui.Button(label="Stop", variant="text", disabled=True, **small)
        self.place = Menu(
            label="Where it runs",
            options=[THIS_MACHINE, *self._rights.schedulers],
            value=THIS_MACHINE,
            visible=bool(self._rights.schedulers),
            width=260,
            **small,
        )
        for button, act in (
            (self.fill, self.take_over),
            (self.button, self.run),
            (self.hold, self.pause),
            (self.end, self.stop),
        ):
            button.on_click(lambda event, act=act: (act(), self.update()))
        buttons = pn.FlexBox(self.button, self.hold, self.end, self.fill, align_items="center", margin=0)
        beside = pn.Column(buttons, self.place, margin=0, **narrow)
        self.papers = PaperChooser(lambda text: self.text.param.update(value=text), self._slots)
        form = pn.FlexBox(self.text, beside, margin=0)
        line = pn.Column(self.papers.above, form, margin=0, sizing_mode="stretch_width")
        if reason := self._rights.no_sweeps:
            line = ui.html(f'<p class="note">{html.escape(ui.capital(reason))}.</p>')
        self.said = ui.html(margin=(0, 10), visible=False)
        self.view = SweepView(
            outcomes=self.outcomes, on_open=self.open, choices=self.choices, cursor=page.session.cursor
        )
        self.view.put_above(line, self.said)
        self.view.put_below(self.papers.below)
        self.take_over()
        self.update()

    # what a visitor does

    def take_over(self) -> None:
        """Fill the form with a sweep over λ for the settings of the page.

        This also works while the page loads its data, as a sweep loads its own.
        """
        if self._page.obstacle is None or self._page.problem.loading:
            self.text.value = spec_text(self._page.setting)

    def run(self) -> None:
        """Run the sweep in the form; stored cells are not repeated."""
        if self.alive:
            return
        self._error = self._clicked = ""
        try:
            if reason := self._rights.no_sweeps or why_no_dask():
                raise ValueError(reason)
            text = self.text.value.strip()
            spec = Spec.parse(text, json_text=text.startswith("{"), describe=listed)
            store = Store(home() / "sweeps" / spec.digest)  # the same runs have the same place
            sweep = SweepDriver(spec, self._place(), store, resume=True)
        except (ValueError, OSError) as error:
            self._error = ui.capital(str(error))
            return
        self.sweep, self._ran = sweep, text
        self._kept = sum(not watched.alive for watched in sweep.cells.values())
        self._thread = threading.Thread(target=self._work, args=(sweep,), name="sweep", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Pause all active cells, or resume them."""
        if self.sweep is not None:
            (self.sweep.resume if self.sweep.state == "paused" else self.sweep.pause)()

    def stop(self) -> None:
        """Stop the sweep; finished cells are kept."""
        if self.sweep is not None:
            self.sweep.stop()

    def open(self, key: str) -> None:
        """Show a cell with the page's runs, or move the cursor to it if it is already shown.

        If it cannot be shown, the reason is displayed until the next click.
        """
        watched, opened = self.sweep.cells[key], self._opened
        if key in opened:
            self._session.cursor.choose(watched.trace, follow=False)
        elif watched.trace is not None and len(opened) < MOST_OPEN:
            problem = self._page.problem.known(watched.trace.info.problem.get("key"))
            self._session.add(OpenCell(watched, self._styles, problem))
            self._styles -= 1
            self._session.tick()
        self._clicked = "" if key in self._opened else key
        self.update()

    @property
    def _opened(self) -> set[str]:
        return {str(run.id) for run in self._session.runs if isinstance(run, OpenCell)}

    def _place(self) -> ClusterSpec:
        chosen = self.place.value
        if chosen in self._rights.schedulers:
            return ClusterSpec(chosen)
        if chosen != THIS_MACHINE:
            named = ", ".join([THIS_MACHINE, *self._rights.schedulers])
            raise ValueError(
                f"{chosen} is not among the places for sweeps ({named}): name it by --scheduler when the "
                "server is started"
            )
        return ClusterSpec(workers=self._slots)

    @property
    def _slots(self) -> int:
        """Return the number of processes of a sweep on this machine: all cores but one, which is for the
        page."""
        return max(1, self._session.share.pool.slots - 1)

    # in the thread of the sweep

    def _work(self, sweep: SweepDriver) -> None:
        forget = on_shutdown(self._end)
        try:
            for watched in sweep.cells.values():
                if not watched.alive:
                    watched.trace = sweep.store.trace(watched.cell)
            sweep.run()
        except (ValueError, OSError) as error:
            self._error = ui.capital(str(error))
        except Exception as error:  # of Dask
            self._error = f"The sweep ended: {type(error).__name__}: {error}"
        finally:
            forget()

    def _end(self) -> None:
        self.stop()
        self._thread.join(LAST_SECONDS)

    @property
    def alive(self) -> bool:
        """Return whether a sweep is running."""
        return self._thread is not None and self._thread.is_alive()

    # what is shown

    def update(self) -> None:
        """Show the progress of the sweep, and draw it from time to time; do nothing while the tab
        is hidden."""
        if not self.view.visible:
            return
        alive = self.alive
        paused = alive and self.sweep.state == "paused"
        self.button.disabled = alive
        self.hold.disabled = self.end.disabled = not alive
        self.hold.label = "Go on" if paused else "Pause"
        text = self._sentence(alive)
        self.said.param.update(object=text, visible=bool(text))
        if not alive or self._ticks % SWEEP_REDRAW_TICKS == 0:
            self.view.update()
            if self.sweep is not None:
                self.papers.judge(self._ran, self.sweep.cells.values())
        self._ticks += 1

    def _sentence(self, alive: bool) -> str:
        said = []
        if self._error:
            said.append(f'<span class="error" role="alert">{html.escape(self._error)}</span>')
        if answer := self._answer():
            said.append(f'<span role="status">{html.escape(answer)}</span>')
        if self.sweep is not None:
            cells = self.sweep.cells
            parts = [f"{number(len(cells))} runs on {self.sweep.place.name}"]
            if self._kept:
                parts.append(f"{number(self._kept)} kept from before")
            parts += [f"{number(n)} {state}" for state, n in counts(cells).items()]
            if alive and self.sweep.workers is not None:
                parts.append(ui.counted(self.sweep.workers, "worker"))
            elif alive:
                parts.append("starting")
            if alive and self.sweep.silent:
                parts.append(f"{self.sweep.place.name} does not answer: wait for it, or press Stop")
            if not alive and self.sweep.message and not self._error:
                parts.append(self.sweep.message)
            said.append(html.escape("  ·  ".join(parts)))
            if not alive:
                said.append(f"results in sweeps/{self.sweep.store.folder.name}, in the server's own folder")
            failed = next((w for w in cells.values() if w.state == "failed"), None)
            if failed is not None:
                said.append(html.escape(f"{cell_name(failed)}: {failed.message}"))
        return "<br>".join(said)

    def _answer(self) -> str:
        """Return why the cell that was clicked last could not be opened, or ""."""
        if not self._clicked:
            return ""
        watched = self.sweep.cells[self._clicked]
        name = cell_name(watched)
        if watched.trace is None and watched.alive:
            return f"{name} has not started: click again once it runs."
        if watched.trace is None:
            return f"{name} {watched.word} before its first iterate."
        if len(self._opened) >= MOST_OPEN:
            return f"At most {MOST_OPEN} runs of a sweep are open at a time: remove some first."
        return f"{name} has started: click again to open it."

    def outcomes(self, gap: float) -> list[CellOutcome]:
        """Return the results of all cells, with their times until ``gap`` was reached."""
        if self.sweep is None:
            return []
        cells = list(self.sweep.cells.values())
        best = f_stars([_so_far(watched) for watched in cells])
        return [_outcome(watched, best, gap) for watched in cells]

    def choices(self) -> list[Chosen]:
        """Return the selected λ; the list is empty if there are none yet."""
        return [] if self.sweep is None else [chosen_of(choice) for choice in self.sweep.choices()]


def _so_far(watched: CellProgress) -> dict[str, Any]:
    """Return the record of a cell, which may still be running."""
    if watched.record:
        return watched.record
    trace = watched.trace
    if trace is None or not len(trace):
        return {}
    return {
        "objective": float(trace.last["objective"]),
        "f_star": trace.info.f_star,
        "problem": trace.info.problem,
    }


def _outcome(watched: CellProgress, best: dict[str, float], gap: float) -> CellOutcome:
    cell, record = watched.cell, _so_far(watched)
    key, seconds = problem_of(record), None
    if watched.trace is not None and key in best:
        seconds = seconds_to(watched.trace, best[key], gap)
    elif not watched.alive and (reached := gap_of(record, best)) is not None and reached <= gap:
        seconds = record["cpu_seconds"]
    return CellOutcome(
        cell.key,
        _data(cell.problem),
        problem_name(cell.problem),
        record.get("lam", cell.problem.lam),
        cell.entrant.label,
        watched.word,
        over=not watched.alive,
        seconds=seconds,
        nnz=record.get("nnz"),
        metric=record.get("test_metric"),
        metric_name=record.get("metric_name") or "",
        pool=_data(pooled(cell.problem)),
    )


def chosen_of(choice: Mapping[str, Any]) -> Chosen:
    """Return the selected λ in a record, with texts that describe it."""
    recipe = Recipe(choice["dataset"], choice["options"], penalty=choice["penalty"])
    relative, data = choice["lam_ratio"] is not None, _data(recipe)
    place = "lam_ratio" if relative else "lam"
    lam, lam_1se = choice[place], choice[f"{place}_1se"]
    where = (
        "on the test part" if choice["held_out"] == TEST else f"in the mean of {choice['held_out']} held out"
    )
    measured = f"{choice['metric_name']} {number(choice['metric'], 4)} {where}"
    settings = "".join(f", {name} = {value}" for name, value in choice["settings"].items())
    text = f"{choice['label']} on {data}{settings}: {_lam_text(lam, relative)} is chosen, {measured}"
    if lam_1se is not None:
        error = number(choice["standard_error"], 2)
        text += f" (standard error {error}); by the one-standard-error rule {_lam_text(lam_1se, relative)}"
    return Chosen(
        *(data, choice["label"], text, lam, choice["metric"]),
        over=tuple((at, mean, error) for at, mean, _, error in choice["over"]),
        lam_1se=lam_1se,
        metric_1se=choice["metric_1se"],
        relative=relative,
        metric_name=choice["metric_name"],
    )


def _lam_text(lam: float, relative: bool) -> str:
    return f"{number(lam, 3)} λmax" if relative else f"λ = {number(lam, 3)}"


def _data(recipe: Recipe) -> str:
    """Return a name of the data set, with the penalty if that is not the default."""
    text = replace(recipe, data=named(recipe.data)).data_text
    usual = datasets.describe(recipe.data).penalty
    return text if recipe.penalty == usual else f"{text}, {recipe.penalty}"


def problem_name(recipe: Recipe) -> str:
    """Return a short name of a problem: data set and λ."""
    if recipe.lam_ratio is not None:
        return f"{_data(recipe)} · {number(recipe.lam_ratio, 3)} λmax"
    return _data(recipe) if recipe.lam is None else f"{_data(recipe)} · λ {number(recipe.lam, 3)}"


def cell_name(watched: CellProgress) -> str:
    """Return a name of a cell: solver and problem."""
    return f"{watched.cell.entrant.label} on {problem_name(watched.cell.problem)}"


def listed(id: str) -> datasets.DataSetInfo:
    """Return the description of a listed data set, without options that name files.

    Raises ValueError if it is not listed, or its files are not available.
    """
    name = datasets.describe(id).name
    if id not in datasets.DATASETS:
        raise ValueError(
            f"the file {name} is not a listed data set; sweeps of your own files run on the command line: "
            f"save these lines as sweep.toml beside {name}, and run there: solverscope sweep sweep.toml"
        )
    if reason := why_not_data(id):
        raise ValueError(f"{name} cannot be used: {reason}")
    return info_of(id)


def spec_text(setting: Experiment) -> str:
    """Return a sweep over λ for the settings of the page, as TOML."""
    problem, kind = setting.problem, PENALTIES[setting.problem.penalty]
    options = "".join(f",{name}={value}" for name, value in problem.options.items())
    lines = [
        f"data = {toml([named(problem.data) + options])}",
        *([f"seeds = [{problem.seed}]"] if problem.seed else []),
        f"loss = {toml(problem.loss)}",
        f"penalty = {toml(problem.penalty)}",
    ]
    if kind.takes_lam and kind.sparse:
        lines.append("lam_ratio = {from = 0.5, to = 0.005, n = 5}")
    elif kind.takes_lam:
        lines.append("lam = {from = 1e-2, to = 1e-6, n = 5}")
    lines.append(f"solvers = {toml([str(entrant) for entrant in setting.entrants if not entrant.penalty])}")
    if problem.penalty_params:
        lines += ["[penalty_set]", *(f"{name} = {toml(v)}" for name, v in problem.penalty_params.items())]
    limits = setting.limits
    lines += ["[limits]", f"tol = {limits.tol:g}", f"max_seconds = {min(limits.max_seconds, 20.0):g}"]
    return "\n".join(lines)
