"""The widgets that define the problem: data set with its card, loss, penalty, λ."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import panel as pn

from solverscope import datasets, solvers
from solverscope.app import ui
from solverscope.app.help import tip
from solverscope.app.page.card import card
from solverscope.app.page.session import Session
from solverscope.app.page.sidebar.fields import FieldForm
from solverscope.app.page.sidebar.own_data import OwnData
from solverscope.app.runs import problem_cache
from solverscope.app.runs.pool import PoolFull, PoolWorker
from solverscope.app.settings import wording
from solverscope.app.settings.recipe import Recipe, info_of, why_not_data
from solverscope.app.settings.settings_table import INTERCEPT, LAM, PENALTY_FACTORS, SEED
from solverscope.app.ui import number
from solverscope.app.ui.batch import batch
from solverscope.app.ui.material_ui import pmui
from solverscope.app.ui.menu import Menu
from solverscope.solvers import LOSSES, PENALTIES, parameters

#: Text instead of the drop area for visitors from other machines.
ONLY_HERE = '<p class="note">Files of your own can be dropped by visitors of this machine only.</p>'
#: Number of positions of the λ slider, and its range in decades below λ_max.
SLIDER_PLACES, SLIDER_DECADES = 81, 4


class ProblemPanel:
    """The widgets for a :class:`Recipe`, updated at each tick of the session.

    ``on_change()`` is called when the visitor changes the recipe. The checkbox ``live`` determines whether λ
    is applied to active runs. Data are loaded outside of the page's thread, and ``problem`` is None until
    then. Data that are not cached are loaded from the first tick on, so only for pages that a browser
    displays.
    """

    def __init__(
        self,
        session: Session,
        setting: Recipe,
        on_change: Callable[[], None],
        *,
        own_files: bool = True,
    ) -> None:
        self._session, self._on_change = session, on_change
        self.setting = setting
        self.problem: solvers.Problem | None = None
        self.error = ""
        self._loading: PoolWorker | None = None
        self._quiet = False

        #: The visitor's own files, which only this page has, and the options that they begin with.
        self._own: dict[str, Mapping[str, Any]] = {}
        wide = {"sizing_mode": "stretch_width", "size": "small"}
        missing = [id for id in datasets.DATASETS if why_not_data(id)]
        self.data = Menu(label="Data set", options=self._names(), disabled_options=missing, **wide)
        self.own = OwnData(session, self.take_file) if own_files else ui.html(ONLY_HERE, margin=(0, 10))
        self.card = ui.html(sizing_mode="stretch_width", margin=(4, 10, 0, 10))
        self.options = FieldForm(self._form_changed, title="Data options")
        self.loss = Menu(label="Loss", **wide)
        self.penalty = Menu(label="Penalty", options={cls.name: id for id, cls in PENALTIES.items()}, **wide)
        self.penalty_form = FieldForm(self._form_changed)
        self.intercept = pmui.Checkbox(
            label=INTERCEPT.field.title,
            size="small",
            margin=(0, 10),
            description=tip("problem_panel.intercept"),
        )
        self.factors = pmui.TextInput(
            label="Penalty factors",
            placeholder="1 for all, adaptive, or name=factor,…",
            description=tip("problem_panel.penalty_factors"),
            **wide,
        )
        self.lam = pmui.TextInput(label="λ", width=110, size="small")
        self.ratio = ui.html(margin=(14, 10, 0, 0))
        self.slider = pmui.DiscreteSlider(
            label="λ on a log scale",
            options=[1.0],
            value=1.0,
            show_value=False,
            sizing_mode="stretch_width",
            margin=(0, 18),
        )
        self.live = pmui.Checkbox(
            label="apply λ to running solvers",
            size="small",
            margin=(0, 10),
            description=tip("problem_panel.live"),
        )
        self.data.param.watch(lambda e: self._choose(lambda: self._usual(e.new)), "value")
        self.loss.param.watch(lambda e: self._change(loss=e.new), "value")
        self.penalty.param.watch(lambda e: self._change(penalty=e.new, penalty_params={}), "value")
        self.intercept.param.watch(lambda e: self._change(intercept=e.new or None), "value")
        self.factors.param.watch(lambda e: self._factors_chosen(e.new), "value")
        for widget in (self.lam, self.slider):
            widget.param.watch(lambda e: self._lam_chosen(e.new), "value")
        self.live.param.watch(lambda event: self._on_change(), "value")
        self.view = pn.Column(
            self.data,
            self.own,
            self.card,
            self.options,
            self.loss,
            self.intercept,
            self.penalty,
            self.penalty_form,
            self.factors,
            pn.Row(self.lam, self.ratio, sizing_mode="stretch_width", margin=0),
            self.slider,
            self.live,
            sizing_mode="stretch_width",
            margin=0,
        )
        self._set(setting)

    def _names(self) -> dict[str, str]:
        """Return the ids of all data sets by their names; repeated names are numbered from the second on."""
        names: dict[str, str] = {}
        for id in (*datasets.DATASETS, *self._own):
            name, same = info_of(id).name, 1
            while (told := name if same == 1 else f"{name} ({same})") in names:
                same += 1
            names[told] = id
        return names

    def _usual(self, data: str) -> Recipe:
        """Return the default recipe of a data set. Raises ValueError if it is not in the menu."""
        if data not in self._own and data not in datasets.DATASETS:
            raise ValueError(f"{data!r} is not in the menu of this page")
        setting = Recipe.of(data)
        return replace(setting, options=dict(self._own.get(data, {}))).with_fitting_loss()

    def take_file(self, id: str, options: Mapping[str, Any]) -> None:
        """Add a visitor's own file to the menu, and select it."""
        self._own[id] = options
        self.data.options = self._names()
        self.set(self._usual(id))

    def close(self) -> None:
        """Delete the visitor's own files."""
        if isinstance(self.own, OwnData):
            self.own.close()

    def set(self, setting: Recipe) -> None:
        """Select another problem and load its data.

        Runs on the previous problem are stopped and removed with their plots. If some were pinned, a notice
        says where they can be found.
        """
        session = self._session
        pinned = [run.label for run in session.runs if run.pinned]
        with batch(models=True):
            session.clear()
            if pinned:
                session.notify(
                    f"No longer shown, as the problem is another one: {', '.join(pinned)}."
                    " What was pinned stays in the tab Runs."
                )
            self._set(setting)
            self._on_change()
            session.tick()

    def reload(self) -> None:
        """Rebuild the problem after its code has changed; runs are kept."""
        self._set(self.setting)
        self._on_change()

    def _set(self, setting: Recipe) -> None:
        if self._loading is not None:
            self._loading.stop()
        self.setting, self.problem, self.error, self._loading = setting, None, "", None
        self._show()
        found = problem_cache.cached(setting)
        if found is None:
            self.card.object = f'<p class="note">{self.loading} …</p>'
        else:
            self._take(card(*found), found[1])

    @property
    def loading(self) -> str:
        """Return a sentence on the data that are being loaded, or "" if there are none."""
        return "" if self.ready or self.error else f"loading {info_of(self.setting.data).name}"

    @property
    def ready(self) -> bool:
        """Return whether the problem is available."""
        return self.problem is not None

    @property
    def obstacle(self) -> str | None:
        """Return why this problem cannot be run, or None if it can."""
        name = info_of(self.setting.data).name
        wrong = self.options.obstacle or self.penalty_form.obstacle
        if wrong is None and self.error:
            wrong = f"{name} cannot be loaded: {self.error}"
        if wrong is None and not self.ready:
            wrong = f"{self.loading} …"
        return wrong or self.factors.helper_text or self.lam.helper_text or None

    def known(self, key: str | None) -> solvers.Problem | None:
        """Return the problem with this key if the panel or a run has it, else None; views can
        then draw more."""
        found = (self.problem, *(run.problem for run in self._session.runs))
        return next((problem for problem in found if problem is not None and problem.key == key), None)

    # what the user does

    def _choose(self, make: Callable[[], Recipe]) -> None:
        if self._quiet:
            return
        setting = make()
        if setting != self.setting:
            self.set(setting)
        else:
            self._on_change()

    def _change(self, **changes: Any) -> None:
        """Change the recipe, and reset λ to its default."""
        self._choose(lambda: replace(self.setting, **changes, lam=None))

    def _form_changed(self) -> None:
        given = {"options": dict(self.options.values), "penalty_params": dict(self.penalty_form.values)}
        seed = given["options"].pop("seed", 0)
        same = all(values == dict(getattr(self.setting, name)) for name, values in given.items())
        setting = replace(self.setting, **given, seed=seed, lam=self.setting.lam if same else None)
        self._choose(setting.with_fitting_loss)

    def _factors_chosen(self, given: str) -> None:
        if self._quiet:
            return
        try:
            factors = PENALTY_FACTORS.parse(given)
        except ValueError as error:
            self.factors.param.update(error_state=True, helper_text=str(error))
            self._on_change()
        else:
            self.factors.param.update(error_state=False, helper_text="")
            self._change(penalty_factors=factors)

    def _lam_chosen(self, given: str | float) -> None:
        if self._quiet:
            return
        try:
            lam = LAM.field.parse(given)
        except ValueError as error:
            self.lam.param.update(error_state=True, helper_text=wording.of_field(LAM.field, error))
        else:
            self._set_lam(lam)
        self._on_change()

    def _set_lam(self, lam: float | None) -> None:
        self.setting = replace(self.setting, lam=lam)
        self._show_lam()

    # what the user sees

    def _show(self) -> None:
        setting = self.setting
        info = info_of(setting.data)
        self._quiet = True
        self.data.value = setting.data
        self.options.set(
            [*info.options, SEED.field],
            {**setting.options, **({"seed": setting.seed} if setting.seed else {})},
        )
        losses = {LOSSES[id].name: id for id in solvers.losses_for(setting.kind)}
        self.loss.param.update(options=losses, value=setting.loss)
        self.intercept.param.update(value=bool(setting.intercept), visible=setting.kind != "function")
        self.penalty.value = setting.penalty
        self.penalty_form.set(parameters(PENALTIES[setting.penalty]), setting.penalty_params)
        self.penalty_form.visible = bool(self.penalty_form.fields)
        self.factors.param.update(
            value=setting.penalty_factors or "",
            visible=PENALTIES[setting.penalty].takes_lam,
            error_state=False,
            helper_text="",
        )
        self._quiet = False
        self._show_lam()

    def _show_lam(self) -> None:
        setting, problem = self.setting, self.problem
        takes = PENALTIES[setting.penalty].takes_lam
        self._quiet = True
        self.lam.param.update(
            value="" if setting.lam is None else f"{setting.lam:.6g}",
            visible=takes,
            error_state=False,
            helper_text="",
        )
        self.slider.visible = takes and problem is not None
        self.live.visible = takes
        self.ratio.visible = takes
        self.ratio.object = ""
        if takes and problem is not None and (lam := setting.lam) is not None:
            top = problem.lam_max or (problem.lam or lam) * 10 ** (SLIDER_DECADES / 2)
            grid = [float(f"{v:.3g}") for v in np.geomspace(top * 10**-SLIDER_DECADES, top, SLIDER_PLACES)]
            if self.slider.options != grid:
                self.slider.param.update(options=grid, value=grid[0])
            self.slider.value = min(grid, key=lambda v: abs(math.log(v / lam)))
            if problem.lam_max:
                ratio = lam / problem.lam_max
                optimal = ":<br>w = 0 is optimal" if ratio >= 1.0 else ""
                self.ratio.object = f"= {number(ratio, 3)} λ<sub>max</sub>{optimal}"
        self._quiet = False

    # loading, off the page's thread

    def update(self) -> None:
        """Load the selected data if they are not loaded yet."""
        if isinstance(self.own, OwnData):
            self.own.update()
        if self.loading and self._loading is None:
            self._start()

    def _start(self) -> None:
        setting = self.setting
        name = info_of(setting.data).name

        def work(worker: PoolWorker) -> tuple[str, solvers.Problem]:
            data = problem_cache.load(setting)
            problem = problem_cache.problem(data, setting, worker.pulse)
            return card(data, problem), problem

        def then(worker: PoolWorker) -> None:
            if worker is not self._loading:
                return
            self._loading = None
            if worker.error is not None:
                self.error = str(worker.error) or "out of memory: choose less of the data"
                self._show_error(self.error)
            elif worker.result is not None:  # else it was stopped while no browser was there
                self._take(*worker.result)
            self._on_change()

        try:
            self._loading = self._session.task(work, then, awaited=True)
        except PoolFull as error:
            self._show_error(f"{name} waits for a free slot: {error}")
        else:
            self.card.object = f'<p class="note">{self.loading} …</p>'

    def _take(self, shown: str, problem: solvers.Problem) -> None:
        """Show the loaded problem; a λ that was typed in the meantime stays, even if it is invalid."""
        refused = self.lam.value if self.lam.error_state else None
        self.card.object, self.problem = shown, problem
        self._set_lam(problem.lam if self.setting.lam is None else self.setting.lam)
        if refused is not None:
            self.lam.value = refused

    def _show_error(self, text: str) -> None:
        self.card.object = f'<p class="note error" role="alert">{html.escape(text)}</p>'
