"""Block coordinate descent against five other solvers: Figures 1 to 4 of Blondel et al. 2013.

    pytest -m bench tests/benchmarks/test_blondel.py -s

writes build/reports/blondel.html (``-k`` takes a part of it: a data set, a figure, ``digits``). All times are
CPU seconds of one thread. A run gets SOLVERSCOPE_BUDGET of them (60 where that is not set); the paper's go up
to some 10⁴ on a machine of 2012. Data sets that are not at hand are left out, with a line that says so.
Figure 5 and Table 2 are in test_blondel_paths.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import datasets
import solvers
from solvers import Problem, Trace, duality_gap, relative_gap
from tests.benchmarks.blondel import BUDGET, GAPS, LOSS, PRINTED, SETS, load, solved
from tests.benchmarks.report import Report, finite
from tests.solvers.oracles import Oracle

pytestmark = pytest.mark.bench

#: The paper's six solvers, some of them twice.
SOLVERS = {
    "bcd-ls": ("bcd-ls", {}),
    "bcd-ls, printed": ("bcd-ls", PRINTED["bcd-ls"]),
    "bcd-cst": ("bcd-cst", {}),
    "bcd-cst, printed": ("bcd-cst", PRINTED["bcd-cst"]),
    "fista-ls": ("fista-ls", {}),
    "fista-cst": ("fista-cst", {}),
    "fista-cst, printed": ("fista-cst", PRINTED["fista-cst"]),
    "sparsa": ("sparsa", {}),
    "fobos": ("fobos", {}),
}
#: Points that a curve keeps.
POINTS = 300


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    report = Report("Block coordinate descent: Blondel, Seki and Uehara 2013")
    report.note(f"{BUDGET:g} CPU seconds a run, one thread. λ as in the paper: the loss is an average.")
    yield report
    report.write("blondel.html")


class Race:
    """All solvers on one problem, each for the budget, and the optimum they are measured by."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.traces = {
            name: solved(problem, id, params, tol=1e-9, max_seconds=BUDGET)
            for name, (id, params) in SOLVERS.items()
        }
        name, best = min(self.traces.items(), key=lambda item: item[1].result["objective"])
        on = "bcd-ls" if name.startswith("bcd") else "sparsa"
        more = solved(problem, on, {}, tol=1e-9, max_seconds=2 * BUDGET, w0=best.w)
        self.w = min((best, more), key=lambda trace: trace.result["objective"]).w
        point = problem.at(self.w)
        self.f_star, self.rows = point.objective, point.sparsity()[1]
        #: how far f* may still be above the optimum, proved by duality
        self.unsure = duality_gap(problem, point) / point.objective

    def reached(self, name: str, gap: float, clock: str = "cpu_seconds") -> float:
        """What ``clock`` shows when the gap is first met, infinite where it is not."""
        return first_at(self.traces[name], self.f_star, gap, clock)

    def left(self, name: str) -> float:
        """The gap at the end."""
        return relative_gap(self.traces[name].result["objective"], self.f_star)

    def share(self, rows: int) -> float:
        """Rows in per cent of all features."""
        return 100.0 * rows / self.problem.design.n_features

    def settled(self, name: str) -> float:
        """CPU seconds from which on the non-zero rows are those at f*, up to a tenth."""
        trace = self.traces[name]
        off = np.flatnonzero(np.abs(trace.nnz_rows - self.rows) > 0.1 * self.rows)
        if off.size and off[-1] == len(trace) - 1:
            return np.inf
        return float(trace.cpu_seconds[off[-1] + 1]) if off.size else 0.0


def test_figure_1_four_patterns(report: Report) -> None:
    lam, found, rows = 0.05, {}, []
    data = datasets.load("digits")
    for penalty in ("l2", "l1", "elastic-net", "l1-l2", "l1-linf", "sparse-group"):
        problem = solvers.make_problem(data, loss=LOSS, penalty=penalty, lam=lam)
        trace = solved(problem, "sparsa", {}, tol=1e-7, max_seconds=BUDGET)
        W, _ = problem.unpack(trace.w)
        used = W.any(axis=1)
        inside = float(np.mean(W[used] == 0.0))
        found[penalty] = W
        rows.append([penalty, 100 * np.mean(W != 0), 100 * used.mean(), 100 * inside])
    columns = ["penalty", "non-zero weights, %", "non-zero rows, %", "zeros inside non-zero rows, %"]
    report.table(f"Figure 1: patterns of W (64 × 10) on digits, λ = {lam:g}", columns, rows)
    report.patterns(found)
    # rows of pixels that are always blank stay at zero whatever the penalty
    share = {row[0]: row[1:] for row in rows}
    assert share["l2"][2] < 1 < share["l1"][2]
    assert share["l1-l2"][2] < 1
    assert share["l1-l2"][1] < share["l1"][1] <= share["elastic-net"][1] <= share["l2"][1]
    assert share["sparse-group"][2] > 1


@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3, 1e-5])
def test_digits_at_all_lambdas(report: Report, lam: float) -> None:
    data = datasets.load("digits")
    problem = solvers.make_problem(data, loss=LOSS, penalty="l1-l2", lam=lam)
    race = Race(problem)
    rows = []
    for name, trace in race.traces.items():
        last = trace.result
        rows.append([name, race.left(name), last["cpu_seconds"], last["iterations"], last["nnz_rows"]])
    violation = Oracle(data, LOSS, "l1-l2", lam, True).violation(race.w)
    report.table(f"digits, λ = {lam:g}", ["solver", "gap at the end", "CPU s", "iterations", "rows"], rows)
    report.note(
        f"f* = {race.f_star:.10g}, too high by at most {race.unsure:.1e} f* (duality); rows violate "
        f"proposition 1 by at most {violation / lam:.1e} λ (by NumPy alone)."
    )
    if lam >= 1e-3:
        assert violation <= 1e-6 * lam
    if lam == 1e-3:
        exact = solved(problem, "bcd-ls", {}, gap=1e-6, f_star=race.f_star, max_seconds=max(BUDGET, 60.0))
        assert exact.status == "converged"


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("lam", [1e-3, 1e-5])
def test_figures_2_to_4_convergence_and_rows(report: Report, name: str, lam: float) -> None:
    data = load(report, name)
    problem = solvers.make_problem(data, loss=LOSS, penalty="l1-l2", lam=lam)
    race = Race(problem)
    n, d = data.train.X.shape
    title = f"{name} ({n:,} × {d:,}, {data.n_classes} classes), λ = {lam:g}"
    columns = ["solver", *(f"s to {gap:g}" for gap in GAPS), "gap at the end", "rows, %", "most rows, %"]
    rows = []
    for label, trace in race.traces.items():
        last = trace.result
        rows.append(
            [
                label,
                *(finite(race.reached(label, gap)) for gap in GAPS),
                finite(race.left(label)),
                race.share(last["nnz_rows"]),
                race.share(trace.nnz_rows.max()),
                last["test_metric"],
                1000 * pass_seconds(race, label),
                last["passes"],
                trace.info.params.get("eta0"),
            ]
        )
    report.table(f"Figures 2 to 4: {title}", [*columns, "test accuracy", "ms a pass", "passes", "η0"], rows)
    report.note(
        f"f* = {race.f_star:.8g} is the best that was found, too high by at most {race.unsure:.1e} f* "
        f"(duality); {race.share(race.rows):.2f} % of its rows are not zero."
    )
    report.table(
        f"The paper's order on {name}, λ = {lam:g}", ["claim", "figures", "verdict", "besides"], claims(race)
    )
    draw(report, race, title)
    assert np.isfinite(race.f_star)
    # what ends elsewhere than where it should is no solver of this problem
    for label, trace in race.traces.items():
        assert trace.status in ("converged", "max-seconds"), f"{label}: {trace.message}"


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("lam", [1e-3, 1e-5])
def test_section_524_shrinking_on_and_off(report: Report, name: str, lam: float) -> None:
    data = load(report, name)
    problem = solvers.make_problem(data, loss=LOSS, penalty="l1-l2", lam=lam)
    traces: dict[tuple[str, bool], Trace] = {}
    for label in ("bcd-ls, printed", "bcd-ls", "bcd-cst, printed", "bcd-cst"):
        id, params = SOLVERS[label]
        for shrinking in (True, False):
            given = {**params, "shrinking": shrinking}
            traces[label, shrinking] = solved(problem, id, given, tol=1e-9, max_seconds=BUDGET)
    best = min(traces.values(), key=lambda trace: trace.result["objective"])
    more = solved(problem, "bcd-ls", {}, tol=1e-9, max_seconds=BUDGET, w0=best.w)
    f_star = min(best.result["objective"], more.result["objective"])
    rows = []
    for (label, shrinking), trace in traces.items():
        seconds = [finite(first_at(trace, f_star, gap)) for gap in GAPS]
        last = trace.result
        left = relative_gap(last["objective"], f_star)
        rows.append([label, "on" if shrinking else "off", *seconds, left, last["iterations"], last["passes"]])
    columns = [
        "solver",
        "shrinking",
        *(f"s to {gap:g}" for gap in GAPS),
        "gap at the end",
        "sweeps",
        "passes",
    ]
    report.table(f"Section 5.2.4: shrinking on {name}, λ = {lam:g}", columns, rows)
    gains = []
    for label in dict.fromkeys(label for label, _ in traces):
        on, off = (
            [first_at(traces[label, shrinking], f_star, gap) for gap in GAPS] for shrinking in (True, False)
        )
        both = [k for k in range(len(GAPS)) if np.isfinite([on[k], off[k]]).all()]
        gains.append(f"{label}: {off[both[-1]] / on[both[-1]]:.2f} at {GAPS[both[-1]]:g}" if both else label)
    report.note(
        "Times without shrinking over times with it, at the smallest gap that both reach (the paper: about 1 "
        f"on RCV1, slightly more on Amazon7). {'; '.join(gains)}. f* = {f_star:.8g} is the best found."
    )
    # leaving rows out changes the way, not the end
    for label in dict.fromkeys(label for label, _ in traces):
        on, off = traces[label, True], traces[label, False]
        if on.status == off.status == "converged":
            assert on.result["objective"] == pytest.approx(off.result["objective"], rel=1e-6)


def first_at(trace: Trace, f_star: float, gap: float, clock: str = "cpu_seconds") -> float:
    """What ``clock`` shows when the gap is first met, infinite where it is not."""
    at = np.flatnonzero(trace.objective <= f_star * (1.0 + gap))
    return float(trace[clock][at[0]]) if at.size else np.inf


def draw(report: Report, race: Race, title: str) -> None:
    """Figures 2 or 3 (objective and test accuracy) and 4 (rows) over CPU seconds."""
    gaps, accuracies, shares = {}, {}, {}
    for name, trace in race.traces.items():
        keep = thin(trace.cpu_seconds)
        seconds, gap = trace.cpu_seconds[keep], relative_gap(trace.objective[keep], race.f_star)
        shown = np.where((gap > 1e-12) & np.isfinite(gap), gap, np.nan)
        gaps[name] = (seconds, shown)
        shares[name] = (seconds, 100.0 * trace.nnz_rows[keep] / race.problem.design.n_features)
        _, times, values = np.array(trace.test_metric).T
        keep = thin(times)
        accuracies[name] = (times[keep], values[keep])
    report.curves(f"{title}: objective", "CPU seconds", "(F - F*)/F*", gaps, log_x=True)
    report.curves(f"{title}: accuracy", "CPU seconds", "test accuracy", accuracies, log=False, log_x=True)
    report.curves(f"{title}: rows", "CPU seconds", "non-zero rows, %", shares, log=False, log_x=True)


def thin(seconds: np.ndarray) -> np.ndarray:
    """Indices of at most ``POINTS`` entries, evenly spaced in log time; entry 0 (no time yet) is left out."""
    if len(seconds) <= POINTS:
        return np.arange(1, len(seconds))
    wanted = np.geomspace(max(seconds[1], 1e-6), seconds[-1], POINTS)
    return np.unique(np.clip(np.searchsorted(seconds, wanted), 1, len(seconds) - 1))


def claims(race: Race) -> list[list[str]]:
    """What section 5.2 says of the solvers: our figures, whether they show it, and what else they show."""
    price = [f"{name} {1000 * pass_seconds(race, name):.3g}" for name in ("bcd-ls", "fista-ls", "sparsa")]
    rows = []
    for how in ("", ", printed"):
        bcd, constant = [f"bcd-ls{how}", f"bcd-cst{how}"], f"fista-cst{how}"
        rows += [
            sooner(
                race,
                f"BCD before FISTA and SpaRSA{how}",
                bcd,
                ["fista-ls", constant, "sparsa"],
                f"ms a pass: {', '.join(price)}; {back(race, bcd[0])}",
            ),
            sooner(
                race,
                f"FISTA (LS) before FISTA (CST){how}",
                ["fista-ls"],
                [constant],
                steps(race, "fista-ls", constant),
            ),
            sooner(race, f"BCD (LS) before BCD (CST){how}", bcd[:1], bcd[1:]),
            sooner(race, f"BCD before FOBOS{how}", bcd, ["fobos"]),
        ]
    besides = steps(race, "sparsa", "fista-cst")
    rows.append(sooner(race, "FISTA (LS) slightly before SpaRSA", ["fista-ls"], ["sparsa"], besides))
    ours, theirs = (race.share(race.traces[name].result["nnz_rows"]) for name in ("bcd-ls", "fobos"))
    much = "seen" if theirs >= 2 * ours else "not seen"
    figures = f"{theirs:.2f} % against {ours:.2f} %"
    rows.append(["FOBOS much less sparse (twice the rows)", figures, much, optimum_rows(race)])
    rows += [two_phases(race, name) for name in SOLVERS if name.startswith("bcd")]
    times = {name: t for name in race.traces if np.isfinite(t := race.settled(name))}
    first = min(times, key=times.__getitem__, default="")
    verdict = "seen" if first.startswith("bcd") else "not seen" if first else "undecided: more time needed"
    figures = ", ".join(f"{name} {t:.2g} s" for name, t in times.items()) or "none is there"
    rows.append(["BCD first at the rows of f* (within 10 %)", figures, verdict, optimum_rows(race)])
    return rows


def optimum_rows(race: Race) -> str:
    return f"{race.share(race.rows):.2f} % of the rows at f*"


def pass_seconds(race: Race, name: str) -> float:
    """CPU seconds of a pass over the data."""
    last = race.traces[name].result
    return last["cpu_seconds"] / max(last["passes"], 1e-9)


def steps(race: Race, searched: str, constant: str) -> str:
    """How much longer the steps of a search are than the constant one."""
    median = np.median(race.traces[searched].step[1:]) / race.traces[constant].step[-1]
    return f"median step of {searched}: {median:.3g} / K"


def back(race: Race, name: str) -> str:
    """When shrinking first gave rows a second chance: a row that was left out too early waits till then."""
    trace = race.traces[name]
    later = np.flatnonzero(trace.epoch > 0)
    when = f"after pass {trace.iteration[later[0]] - 1}" if later.size else "not yet"
    return f"rows left out come back {when}"


def sooner(race: Race, claim: str, first: list[str], others: list[str], besides: str = "") -> list[str]:
    """The best of ``first`` against the best of ``others`` at each gap that either meets, or, where there is
    none, by the gaps they end with. Where the clock says no, passes over the data may say yes: then it is the
    price of a pass."""
    figures, wins, by_passes = [], [], []
    for gap in GAPS:
        seconds, passes = (
            [min(race.reached(name, gap, clock) for name in names) for names in (first, others)]
            for clock in ("cpu_seconds", "passes")
        )
        if min(seconds) < np.inf:
            figures.append(
                f"{gap:g}: {seconds[0]:.3g} / {seconds[1]:.3g} s, {passes[0]:.3g} / {passes[1]:.3g} passes"
            )
            wins.append(seconds[0] < seconds[1])
            by_passes.append(passes[0] < passes[1])
    if not wins:
        low, high = (min(race.left(name) for name in names) for names in (first, others))
        figures = f"gaps after the same time: {low:.3g} / {high:.3g}"
        return [claim, figures, "seen so far" if low < high else "not seen so far", besides]
    verdict = "seen" if all(wins) else f"seen at {sum(wins)} of {len(wins)} gaps" if any(wins) else "not seen"
    if not all(wins):
        verdict += f"; by passes at {sum(by_passes)}"
    return [claim, "; ".join(figures).replace("inf", "never"), verdict, besides]


def two_phases(race: Race, name: str) -> list[str]:
    """Whether the non-zero rows rise to well above those at the end, and have come down in half the time."""
    trace = race.traces[name]
    rows, top = trace.nnz_rows, int(trace.nnz_rows.argmax())
    off = np.flatnonzero(np.abs(rows - rows[-1]) > 0.1 * rows[-1])
    settled = int(off[-1]) + 1 if off.size else 0
    figures = (
        f"{race.share(rows[0]):.2f} % → {race.share(rows[top]):.2f} % (pass {trace.iteration[top]}) → "
        f"{race.share(rows[-1]):.2f} % (within a tenth of it from pass {trace.iteration[settled]} of "
        f"{trace.iteration[-1]})"
    )
    up = rows[0] < rows[top] and rows[top] > 1.1 * rows[-1]
    quick = trace.cpu_seconds[settled] <= 0.5 * trace.cpu_seconds[-1]
    verdict = "seen" if up and quick else "up and down, slowly" if up else "not seen"
    return [f"rows of {name} go up, then quickly down", figures, verdict, optimum_rows(race)]
