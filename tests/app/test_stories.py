"""What the stories say is true: every sentence, on the story's own runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from solverscope import solvers
from solverscope.app.page.page import Page
from solverscope.app.page.sidebar.run_controls import PACES
from solverscope.app.settings.recipe import fits
from solverscope.app.stories import left_out, read, stories
from solverscope.app.views import TABS
from solverscope.app.views.base.plot import AXIS_SCALES, X_AXES
from solverscope.solvers import SOLVERS, Stopping
from tests.app.helpers import problem_of
from tests.app.stories import (  # noqa: F401  their claims
    clusters,
    lines,
    regression,
    relays,
    rivals,
    rows,
    rules,
    shrinking,
    toys,
)
from tests.app.stories.told import CLAIMS, SEEDS, holds, seeds, sentences, told, told_by

FOLDER = Path(__file__).resolve().parents[2] / "app" / "stories"
README = FOLDER.parents[1] / "README.md"
#: Stories of functions that have no minimum.
UNBOUNDED = {"steepest"}
#: Stories whose runs and checks take less than a second together.
QUICK = {"armijo", "steepest", "bundle"}

#: Sentences that claim nothing of a run: what to press, and what the page shows there.
HOW = {
    "The words that went are listed by name.",
    "Run can be pressed once data and problem are made.",
    "Click on φ, or move the slider.",
    "Click into the plane to choose another start, and press Run.",
    "The paper reports gains on topics of Reuters news.",
}
#: Words of a card at most: six a second.
WORDS = 90
NUMBERS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
NUMBERS = (
    NUMBERS + "seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five "
    "twenty-six twenty-seven twenty-eight twenty-nine thirty"
).split()


def params() -> list:
    """Each claim, on each seed that its story is looked at."""
    found = []
    for number, (id, sentence) in enumerate(CLAIMS):
        marks = () if id in QUICK else pytest.mark.slow
        name = re.sub(r"\W+", "-", sentence)[:40]
        found += [
            pytest.param(id, sentence, seed, id=f"{id}-{number}-{name}-seed{seed}", marks=marks)
            for seed in seeds(id)
        ]
    return found


@pytest.mark.parametrize(("id", "sentence", "seed"), params())
def test_what_a_story_says_is_seen_on_its_own_runs(id, sentence, seed):
    holds(CLAIMS[id, sentence], told(id, seed))


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_each_sentence_of_a_story_has_a_check(story):
    said = told_by(story)
    without = [one for one in said if (story.id, one) not in CLAIMS and one not in HOW]
    assert without == [], "give it a check by tests.app.stories.told.claim"
    assert {sentence for id, sentence in CLAIMS if id == story.id} <= set(said), "is no longer said"


def test_sentences_without_a_check_hold_no_number():
    assert not [
        one for one in HOW if re.search(r"\d", one) or {*re.findall(r"[\w-]+", one.lower())} & {*NUMBERS[1:]}
    ]
    said = {one for story in stories().values() for one in told_by(story)}
    assert said >= HOW, "is no longer said"


@pytest.mark.parametrize("story", stories().values(), ids=stories())
def test_a_card_is_read_in_fifteen_seconds(story):
    assert sum(len(point.split()) for point in story.look_for) <= WORDS


def test_a_sentence_that_is_new_or_reworded_has_no_check():
    story = stories()["kink"]
    changed = replace(story, look_for=(*story.look_for, "It takes 3 steps. See Yu et al. 2010 for more."))
    new = [one for one in told_by(changed) if (story.id, one) not in CLAIMS and one not in HOW]
    assert new == ["It takes 3 steps.", "See Yu et al. 2010 for more."]


@pytest.mark.parametrize(("wrong", "said"), [("", "it lacks 'problem'"), ("id = ", "Invalid value")])
def test_a_file_that_is_no_story_is_named(tmp_path, wrong, said):
    path = tmp_path / "99-wrong.toml"
    path.write_text(wrong)
    with pytest.raises(ValueError, match=f"^99-wrong.toml is no story: {said}"):
        read(path)


def test_an_entry_of_a_question_that_does_not_exist_is_named(tmp_path):
    text = (FOLDER / "10-exact-search.toml").read_text(encoding="utf-8")
    path = tmp_path / "99-wrong.toml"
    path.write_text(text.replace("[ask]", '[ask]\nkind = "choice"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^99-wrong\.toml is no story: .*'kind'"):
        read(path)


GOOD = (FOLDER / "2-memory.toml").read_text(encoding="utf-8")
#: What may be wrong with a story, by a change of one that is right, and what is said of it.
BROKEN = {
    "solver": (("ten=prox-qn", "ten=my-own"), "there is no solver 'my-own'"),
    "data": (("digits", "digets"), "There is no data set 'digets'"),
    "loss": (("multiclass-logistic", "chain-crf"), "loss is 'chain-crf': "),
    "penalty": (('penalty = "l1"', 'penalty = "l3"'), "it names 'l3', which is not there"),
    "lam": (("lam = ", "lam = -"), "lam is '-"),
    "limit": (("[stop]", '[stop]\nmax_iter = "long"'), "long"),
    "view": (("[view]", "[view]\nrepeat = 3"), "are texts by name"),
    "tables": (("[view]", "[[view]]"), "list"),
    "name": (("name = ", "name = 3 #"), "are texts"),
    "run": (("[view]", '[[step]]\ntext = "Look."\nrun = "mine"\n[view]'), "it has no run 'mine'"),
    "until": (("[view]", '[[step]]\ntext = "Look."\nuntil = "nnz >"\n[view]'), "nnz >"),
    "bytes": (("name", "n\0me"), "is no story"),
    "nothing": ((GOOD, ""), "it lacks 'problem'"),
}


@pytest.fixture
def with_bad_stories(tmp_path, monkeypatch):
    """Stories, of which all but two have an error."""
    (tmp_path / "2-memory.toml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "12-kink.toml").write_text((FOLDER / "12-kink.toml").read_text("utf-8"), encoding="utf-8")
    (tmp_path / "notes.toml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "70-folder.toml").mkdir()
    for number, (id, (change, _)) in enumerate(BROKEN.items(), 40):
        assert change[0] in GOOD
        (tmp_path / f"{number}-{id}.toml").write_text(GOOD.replace(*change), encoding="utf-8")
    monkeypatch.setattr("solverscope.app.stories.STORIES_FOLDER", tmp_path)


def test_a_bad_story_is_left_out_with_a_sentence_and_the_others_stay(with_bad_stories, caplog):
    assert list(stories()) == ["memory", "kink"]
    wrong = left_out()
    assert wrong.keys() == {*BROKEN, "notes", "folder"}
    for id, (_, said) in BROKEN.items():
        assert said in wrong[id]
        assert f"-{id}.toml is no story: " in wrong[id]
    assert "NUMBER-ID.toml" in wrong["notes"]
    left_out()
    assert sorted(record.args[0] for record in caplog.records) == sorted(wrong.values()), "each once"


def test_the_page_opens_without_a_bad_story_and_says_why_where_it_is_asked_for(with_bad_stories):
    page = Page({"story": "solver"})
    assert page.story is stories()["memory"]
    assert "solver" not in page.story_menu.options.values()
    (notice,) = page.notices
    assert "there is no solver &#x27;my-own&#x27;" in notice.objects[0].object
    page.close()


def test_a_story_of_a_solver_that_comes_later_is_there_then(with_bad_stories, monkeypatch):
    assert "solver" not in stories()
    monkeypatch.setitem(SOLVERS, "my-own", SOLVERS["prox-qn"])
    assert "solver" in stories()


def test_readme_counts_the_stories_and_names_those_there_are():
    text = " ".join(README.read_text(encoding="utf-8").split())
    (line,) = [one for one in sentences(text) if "stories set up an experiment" in one]
    many, guided = re.search(r"([\w-]+) stories set .* ([\w-]+) of them guide", line).groups()
    assert NUMBERS.index(many.lower()) + 1 == len(stories())
    assert NUMBERS.index(guided) + 1 == sum(bool(story.steps) for story in stories().values())
    (named,) = re.findall(r"Choose the story \*\*(.*?)\*\*", text)
    heads = [
        head.strip()
        for head in re.search(r"\n\| (.*) \|\n\|---\|---\|\n\| !", README.read_text("utf-8"))[1].split("|")
    ]
    assert {named, *heads} <= {story.name for story in stories().values()}


@pytest.mark.parametrize(
    "solver", [id for id, kind in SOLVERS.items() if hasattr(kind(), "seed") and "random" not in vars(kind)]
)
def test_a_solver_tells_by_its_options_whether_its_choices_are_random(solver):
    made = solvers.make_solver(solver)
    ways = {name: value for name, value in vars(made).items() if name in ("order", "subgradient")}
    assert made.random == (not ways or "random" in ways.values())
    for name in ways:
        assert replace(made, **{name: "random"}).random


def test_stories_on_two_seeds_are_those_with_a_solver_whose_choices_are_random():
    twice = {id for id in stories() if seeds(id) == SEEDS}
    assert {"features-die", "line-search-pays", "random-subgradients", "liblinear", "double"} <= twice
    assert not twice & {"shrinking", "memory", "four-patterns", "bundle"}


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
    assert story.view.get("x_scale", "linear") in AXIS_SCALES
    assert story.view.get("speed", "full") in PACES
    assert all(fits(s, story.setting.problem) is None for s in story.setting.entrants)


@pytest.mark.slow
@pytest.mark.parametrize("id", [story.id for story in stories().values() if story.id != "tree"])
def test_no_run_of_a_story_is_squeezed_into_a_tenth_of_the_axis(id):
    told_of, view = told(id, 0), stories()[id].view
    if told_of.problem().loss.id == "toy":  # drawn in a plane
        return
    ends = [float(trace[view["x"]][-1]) for trace in told_of.traces()]
    assert view.get("x_scale", "linear") == "log" or min(ends) > 0.1 * max(ends)


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


@pytest.mark.slow
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
    known = [story.optimum(solver.recipe(shared)) is not None for solver in story.setting.entrants]
    assert known == [story.id not in UNBOUNDED] * len(known)
    assert story.optimum(replace(shared, lam=2 * (shared.lam or 1.0))) is None


@pytest.mark.parametrize("id", ["kink", "bundle"])
def test_f_star_of_a_function_is_that_from_any_start(id):
    story = stories()[id]
    shared = story.setting.problem
    moved = replace(shared, options={**shared.options, "start": "0.5,0.25"})
    assert story.optimum(moved) == story.optimum(shared) is not None
