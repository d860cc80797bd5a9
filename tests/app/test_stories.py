"""What the stories say is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import app.stories
import datasets
import solvers
from app.page.run_controls import PACES
from app.runs import library
from app.settings.setting import fits
from app.stories import Story, read, stories
from app.views import TABS, Rate
from app.views.playground_marks import Marks
from app.views.plot import X_AXES
from solvers import CUTS, PLANE, Stopping, Trace, relative_gap

FOLDER = Path(app.stories.__file__).parent
#: Stories of functions that have no minimum.
UNBOUNDED = {"steepest"}


def problem_of(story: Story, penalty: str = "") -> solvers.Problem:
    """The story's problem, or the same with a penalty that one of its solvers has of its own."""
    setting = story.setting.problem
    data = library.load(setting.data, setting.options, setting.seed)
    own = next((s for s in story.setting.solvers if s.penalty == penalty), None)
    return library.variant(library.problem(data, setting), own.problem(setting) if own else setting)


@pytest.fixture(scope="module")
def race():
    """``race(story, label, gap)`` runs one solver of a story to a gap (None: as far as the page would), once
    for all tests here."""
    traces: dict[tuple[str, str, float], Trace] = {}

    def run(story: Story, label: str, gap: float | None) -> Trace:
        if (story.id, label, gap) not in traces:
            chosen = next(s for s in story.setting.solvers if s.label == label)
            problem, stopping = problem_of(story, chosen.penalty), Stopping(tol=story.setting.tol)
            if gap is not None:
                f_star = story.optimum(chosen.problem(story.setting.problem))
                stopping = Stopping(gap=gap, f_star=f_star, max_seconds=60.0)
            solver = chosen.make().towards(stopping.tol)
            traces[story.id, label, gap] = solvers.Run(problem, solver, stopping=stopping).execute()
        return traces[story.id, label, gap]

    return run


def work(trace: Trace, gap: float, column: str) -> float:
    """Iterations, passes or seconds to a gap."""
    return float(trace[column][np.flatnonzero(relative_gap(trace.objective, trace.info["f_star"]) <= gap)[0]])


def test_there_are_three_to_begin_with_and_the_first_is_the_default():
    assert len(stories()) >= 3
    assert next(iter(stories())) == "shrinking"


def test_stories_come_in_the_order_of_their_numbers():
    numbered = sorted((int(p.stem.partition("-")[0]), p) for p in FOLDER.glob("*.toml"))
    assert [number for number, _ in numbered] == list(range(1, len(numbered) + 1))
    assert list(stories()) == [read(path).id for _, path in numbered]


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_a_story_can_be_shown(story):
    assert story.question.endswith("?")
    assert story.look_for
    assert story.summary
    assert story.view.get("tab", "record") in TABS
    assert story.view.get("x", "passes") in X_AXES
    assert story.view.get("speed", "full") in PACES
    assert all(fits(s, story.setting.problem) is None for s in story.setting.solvers)


def optima() -> list:
    """Every f* of the stories once, with a story and a penalty that it is of; that of the huge tree is looked
    at in test_tree_story.py."""
    found = {
        (str(story.setting.problem), penalty, f_star): pytest.param(
            story, penalty, f_star, id=f"{story.id}-{penalty}"
        )
        for story in stories().values()
        if story.id != "tree"
        for penalty, f_star in story.f_star.items()
    }
    return list(found.values())


@pytest.mark.parametrize(("story", "penalty", "f_star"), optima())
def test_f_star_is_the_minimum(story, penalty, f_star):
    problem = problem_of(story, penalty)
    assert problem.penalty.id == penalty
    fitting = solvers.compatible(problem.loss.id, penalty)
    exact = fitting[0] if problem.smooth else next(id for id in ("dual-cd", "subbfgs") if id in fitting)
    solver = solvers.make_solver(exact)
    near = solvers.solve(problem, solver, gap=1e-7, f_star=f_star, max_seconds=30)
    assert near.status == "converged", "f* is not too low"
    far = solvers.Run(problem, solver, stopping=Stopping(tol=1e-7, max_seconds=5), w0=near.w)
    assert far.execute().objective.min() >= f_star - 1e-9 * abs(f_star), "f* is not too high"


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_every_solver_of_a_story_knows_f_star_of_its_problem(story):
    shared = story.setting.problem
    known = [story.optimum(solver.problem(shared)) is not None for solver in story.setting.solvers]
    assert known == [story.id not in UNBOUNDED] * len(known)
    assert story.optimum(replace(shared, lam=2 * (shared.lam or 1.0))) is None


def test_shrinking_owl_qn_carries_more_non_zeros_than_prox_qn_on_the_way(race):
    story = stories()["shrinking"]
    sparse, dense = (race(story, label, 1e-3) for label in ("prox-qn", "owl-qn"))
    at = min(sparse.cpu_seconds[-1], dense.cpu_seconds[-1]) * 0.9
    nnz = [t.nnz[np.searchsorted(t.cpu_seconds, at)] for t in (sparse, dense)]
    assert nnz[1] > 1.3 * nnz[0]
    assert sparse.working_set[-1] < 0.1 * problem_of(story).size
    assert sparse.returned.max() > 0


def test_memory_ten_pairs_need_little_more_than_half_the_iterations_of_one_and_fifty_save_little(race):
    story = stories()["memory"]
    one, three, ten, fifty = (
        work(race(story, label, 1e-6), 1e-6, "iteration") for label in ("one pair", "three", "ten", "fifty")
    )
    assert one > three > ten > fifty
    assert ten < 0.55 * one
    assert fifty > 0.6 * ten


def test_forgetting_less_than_two_thirds_of_the_passes_and_the_same_optimum(race):
    story = stories()["forgetting"]
    shrinking, plain = (race(story, label, 1e-4) for label in ("shrinking", "all weights"))
    passes = [work(t, 1e-4, "passes") for t in (shrinking, plain)]
    assert passes[0] < 2 / 3 * passes[1]
    assert plain.working_set[-1] == problem_of(story).size


def test_q_memory_forty_pairs_on_the_working_set_cost_less_than_ten_on_all_weights(race):
    story = stories()["q-memory"]
    ten, forty, whole = (race(story, label, 1e-4) for label in ("ten", "forty", "all weights"))
    size = [np.max(t.memory_pairs * t.working_set) for t in (forty, whole)]
    assert size[0] < 0.5 * size[1]
    assert forty.memory_pairs.max() > 20
    iterations = [work(t, 1e-4, "iteration") for t in (forty, ten, whole)]
    assert iterations == sorted(iterations)
    starts = np.flatnonzero(np.diff(ten.epoch)) + 1
    assert (ten.memory_pairs[starts] == 0).all()
    assert (np.diff(ten.working_set[starts + 1]) < 0).all()


def test_superlinear_with_all_pairs_the_rate_falls_at_unit_steps_and_with_ten_it_does_not():
    story = stories()["superlinear"]
    f_star = story.optimum(story.setting.problem)
    stopping = Stopping(tol=story.setting.tol, max_seconds=story.setting.max_seconds, f_star=f_star)
    rates, steps = [], []
    for chosen in story.setting.solvers:
        trace = solvers.Run(problem_of(story), chosen.make().towards(story.setting.tol), stopping=stopping)
        curve = next(iter(Rate(trace.execute())._curves.values())).feed.source.data
        drawn = np.flatnonzero(np.isfinite(curve["y"]))[-5:]
        rates.append(np.array(curve["y"])[drawn])
        steps.append(np.array(curve["unit"])[drawn])
    falling, trendless = rates
    assert (np.diff(falling) < 0).all()
    assert falling[-1] < 0.1
    assert (steps[0] == 1.0).all()
    assert not (np.diff(trendless) < 0).all()
    assert trendless.min() > 0.1


def test_features_die_bcd_takes_up_few_words_and_throws_most_out_again(race):
    story = stories()["features-die"]
    bcd, fista = (race(story, label, 1e-6) for label in ("bcd-ls", "fista-ls"))
    assert 100 < bcd.nnz_rows[1] <= 200
    assert bcd.nnz_rows[5] < 0.5 * bcd.nnz_rows[1]
    assert fista.nnz_rows[1] > 800
    passes = work(bcd, 1e-3, "passes")
    assert fista.nnz_rows[fista.passes <= passes][1:].min() > 3 * bcd.nnz_rows[bcd.passes <= passes][-1]
    assert fista.nnz_rows[-1] == bcd.nnz_rows[-1]


def test_features_die_but_not_by_stochastic_steps():
    story = stories()["features-die"]
    fobos = solvers.solve(problem_of(story), solvers.make_solver("fobos"), max_iter=40)
    assert fobos.nnz_rows[1:].min() > 500
    assert np.diff(fobos.nnz_rows[1:]).max() > 0, "words come back"


def test_four_patterns_are_those_of_figure_1(race):
    story = stories()["four-patterns"]
    blank = ~problem_of(story).design.column_nnz.astype(bool)
    W = {}
    for solver in story.setting.solvers:
        trace = race(story, solver.label, None)
        W[solver.label], _ = problem_of(story, solver.penalty).unpack(trace.w)
    used = {label: matrix[matrix.any(axis=1)] for label, matrix in W.items()}
    np.testing.assert_array_equal(~W["ridge"].any(axis=1), blank)
    assert (used["ridge"] != 0).all()
    assert np.mean(used["lasso"] == 0) > 0.5
    weights = {label: np.count_nonzero(matrix) for label, matrix in W.items()}
    assert min(weights, key=weights.get) == "lasso"
    assert weights["elastic net"] > weights["lasso"]
    assert len(used["elastic net"]) > len(used["lasso"])
    assert len(used["group lasso"]) == min(map(len, used.values()))
    assert (used["group lasso"] != 0).all()


def test_line_search_pays_for_bcd_at_few_trials_and_not_for_fista(race):
    story = stories()["line-search-pays"]
    passes = {s.label: work(race(story, s.label, 1e-6), 1e-6, "passes") for s in story.setting.solvers}
    assert passes["bcd-ls"] < 2 / 3 * passes["bcd-cst"]
    assert passes["fista-ls"] > 0.9 * passes["fista-cst"]
    bcd = race(story, "bcd-ls", 1e-6)
    assert bcd.ls_trials[1:].sum() < 1.05 * bcd.nnz_rows[1:].sum()


def test_line_search_pays_for_fista_too_where_the_constant_is_too_large():
    setting = replace(stories()["line-search-pays"].setting.problem, loss="multiclass-squared-hinge")
    problem = library.problem(library.load(setting.data, {}, 0), setting)
    iterations = [
        solvers.solve(problem, solvers.make_solver(id), tol=1e-3).iteration[-1]
        for id in ("fista-ls", "fista-cst")
    ]
    assert iterations[0] < 0.7 * iterations[1]


def places(story: Story, label: str, options: dict[str, str] | None = None, data: str = "") -> Trace:
    """A run of a story on its function of two variables, or on another one, with all places it came to."""
    chosen = next(s for s in story.setting.solvers if s.label == label)
    problem = solvers.make_problem(datasets.load(data or story.setting.problem.data, **(options or {})))
    return solvers.solve(problem, chosen.make(), max_iter=200, probes=(PLANE,))


def at(trace: Trace, k: int) -> Marks:
    """What a solver of the story sees at an iterate."""
    return Marks.of(trace.probes.last("plane", k)[1], problem_of(stories()["kink"]))


def test_kink_the_first_exact_step_ends_there_and_only_subbfgs_finds_the_way_on():
    story = stories()["kink"]
    exact, mixed = (places(story, label) for label in ("exact", "subbfgs"))
    for trace in (exact, mixed):
        np.testing.assert_allclose(at(trace, 1).w, [0.0, 0.9], atol=1e-12)
        assert sorted(at(trace, 1).subgradients.tolist()) == [[-10.0, 1.0], [10.0, 1.0]]
    assert (exact.status, exact.iteration[-1]) == ("stalled", 1)
    assert at(exact, 1).slope > 0
    assert abs(at(exact, 1).p[0]) > abs(at(exact, 1).p[1]), "off the kink"
    assert np.count_nonzero(at(mixed, 1).shares) == 2
    assert at(mixed, 1).slope < 0
    assert at(mixed, 1).p[0] == pytest.approx(0.0, abs=1e-6 * abs(at(mixed, 1).p[1]))
    assert mixed.iteration[-1] == 2
    assert mixed.objective[-1] <= 1e-12


def test_kink_an_inexact_search_meets_none_and_goes_to_and_fro():
    story = stories()["kink"]
    trace = places(story, "inexact")
    near = int(np.flatnonzero(trace.objective <= 1e-6)[0])
    assert near > 25
    before = np.array([at(trace, k).w for k in range(near)])
    assert before.all(), "on no kink"
    assert np.count_nonzero(np.diff(np.sign(before[:, 0]))) > 0.3 * near


def test_kink_it_is_the_same_from_other_starts():
    story, rng = stories()["kink"], np.random.default_rng(3)
    stuck = 0
    for x, y in rng.uniform(-2.0, 2.0, (20, 2)).round(2):
        exact, mixed = (places(story, label, {"start": f"{x},{y}"}) for label in ("exact", "subbfgs"))
        stuck += exact.status == "stalled" and exact.objective[-1] > 1e-3
        assert mixed.objective[-1] <= 1e-12
    assert stuck >= 18


def test_steepest_descent_creeps_to_a_point_that_is_no_minimum_and_subbfgs_passes_it():
    story = stories()["steepest"]
    gd, subgd, mixed = (places(story, label) for label in ("gd", "subgd", "subbfgs"))
    path = np.array([gd.probes.last("plane", k)[1]["w"] for k in gd.iteration])
    lengths, steps = np.linalg.norm(path, axis=1), np.diff(path, axis=0)
    assert (np.diff(np.linalg.norm(steps, axis=1)) < 0).all()
    turns = np.einsum("ki,ki->k", steps[1:], steps[:-1])
    turns /= np.linalg.norm(steps[1:], axis=1) * np.linalg.norm(steps[:-1], axis=1)
    assert np.abs(turns[:10]).max() < 1e-6, "right angles"
    assert lengths[10] < 1e-5
    others = np.array([subgd.probes.last("plane", k)[1]["w"] for k in subgd.iteration])
    np.testing.assert_allclose(others[:15], path[:15], rtol=1e-6)
    assert gd.status == subgd.status == mixed.status == "unbounded"
    assert lengths[-1] < 1e-10 < lengths[-3]
    assert mixed.iteration[-1] == 1, "its second direction"
    assert mixed.objective[-1] > 1.0


def test_steepest_descent_at_kinks_ends_far_above_the_minimum_of_five_planes():
    story = stories()["steepest"]
    subgd, mixed = (places(story, label, data="toy-hull") for label in ("subgd", "subbfgs"))
    np.testing.assert_allclose(subgd.objective[1:16], 11.0 * 3.0 ** -np.arange(15), rtol=1e-6)
    assert mixed.objective[-1] == pytest.approx(-100.0, rel=1e-12)
    assert 20 < np.flatnonzero(subgd.objective < 0.0)[0] < 30, "rounding lets it go"


@pytest.fixture(scope="module")
def bundles() -> dict[str, Trace]:
    """The runs of the story about cutting planes, with their cuts."""
    story = stories()["bundle"]
    stopping = Stopping(tol=story.setting.tol)
    return {
        chosen.label: solvers.Run(
            problem_of(story), chosen.make(), stopping=stopping, probes=(CUTS, PLANE)
        ).execute()
        for chosen in story.setting.solvers
    }


def test_bundle_each_iteration_adds_a_tangent_and_bmrm_goes_far_out_first(bundles):
    trace, start = bundles["bmrm"], problem_of(stories()["bundle"]).start
    assert [len(seen["numbers"]) for _, seen in trace.probes.entries("cuts")] == list(trace.iteration + 1)
    best = [seen["w"].tolist() for _, seen in trace.probes.entries("plane")]
    assert best[2] == start.tolist() != best[3]


def test_bundle_two_cuts_carry_the_weight_in_the_end_one_from_each_side(bundles):
    trace = bundles["bmrm"]
    _, seen = trace.probes.last("cuts", int(trace.iteration[-1]))
    carrying = np.flatnonzero(seen["alpha"] > 1e-9)
    assert len(carrying) == 2 < len(seen["alpha"])
    slopes = [seen["A"][i][0] + 0.5 * trace.w[0] for i in carrying]
    assert min(slopes) < 0.0 < max(slopes)


def test_bundle_the_search_finds_the_minimum_at_once_and_seven_iterations_prove_it(bundles):
    trace, f_star = bundles["ls-bmrm"], stories()["bundle"].f_star["l2"]
    assert trace.objective[1] == pytest.approx(f_star, rel=1e-12)
    assert (trace.status, trace.iteration[-1]) == ("converged", 8)
    assert trace.dual_gap[1] > 1.0


def test_random_subgradients_break_owl_qn_and_cost_its_star_steps(race):
    story = stories()["random-subgradients"]
    best = story.optimum(story.setting.problem)
    plain, random, star, both = (race(story, s.label, None) for s in story.setting.solvers)
    gap = [relative_gap(t.objective[-1], best) for t in (plain, random, star, both)]
    assert plain.status == "converged"
    assert (random.status, "random subgradient" in random.result["message"]) == ("stalled", True)
    assert 5e-3 < gap[1] < 2e-2
    assert max(gap[2:]) < 2e-4
    steps = [t.inner_iterations[t.inner_iterations >= 0].mean() for t in (star, both)]
    assert steps[1] > 1.5 * steps[0]
    assert plain.result["nnz"] < min(star.result["nnz"], both.result["nnz"])


def test_early_bird_sublbfgs_is_ahead_early_and_ls_bmrm_late_and_both_in_turn_are_near_the_best(race):
    story = stories()["early-bird"]
    early, late, both = (race(story, label, 2e-2) for label in ("sublbfgs", "ls-bmrm", "both"))
    half, tenth, near = ([work(t, gap, "iteration") for t in (early, late, both)] for gap in (0.5, 0.1, 0.02))
    assert half[0] == half[2] <= 0.5 * half[1]
    assert 0.9 < tenth[0] / tenth[1] < 1.1
    assert near[1] < 0.6 * near[0]
    assert near[2] < 1.15 * near[1]
    finished = race(story, "ls-bmrm", None)
    best = finished.objective[-1]
    assert finished.dual_gap[-1] <= 1e-4 * best
    assert np.nanmin(early.dual_gap) > 0.3 * best
    assert set(both.phase) == {"warm", "cuts"}


def test_liblinear_looks_at_few_pictures_and_gives_up_hardly_one_by_mistake(race):
    story = stories()["liblinear"]
    shrinking, plain = (race(story, s.label, None) for s in story.setting.solvers)
    assert shrinking.working_set[0] == plain.working_set.min() == 1438
    assert shrinking.working_set[-1] < 50
    assert shrinking.returned.max() <= 2
    assert shrinking.epoch.max() >= 3
    passes = [t.result["passes"] for t in (shrinking, plain)]
    assert passes[0] < 0.1 * passes[1]
    assert plain.result["iterations"] < 1.1 * shrinking.result["iterations"]
    assert shrinking.dual_gap[-1] <= 1e-6 * shrinking.objective[-1]
    assert shrinking.working_set[30] < 144
