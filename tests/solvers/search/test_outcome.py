import math

from solverscope.solvers.search.outcome import without_search


def test_a_step_without_a_search_has_no_trials():
    assert without_search("there", 0.5) == ("there", 0.5, None, -1, "none")
    assert math.isnan(without_search("there").t)
    assert not without_search("there").backtracked
