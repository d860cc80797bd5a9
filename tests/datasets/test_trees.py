import numpy as np
import pytest

from solverscope.datasets import DataError
from solverscope.datasets.trees import Tree, below, leaves


def test_a_tree_is_laid_out_level_by_level_below_a_common_root():
    tree = Tree.of({"c": "a", "d": "a", "e": "c"}, ["a", "b"])
    assert tree.names == ("all", "a", "b", "c", "d", "e")
    assert tree.parents.tolist() == [-1, 0, 0, 1, 1, 3]
    assert leaves(tree.parents).tolist() == [2, 4, 5]
    assert below(tree.parents, 1).tolist() == [False, True, False, True, True, True]


def test_paths_bring_what_lies_above_them():
    tree = Tree.of_paths(["2/1/3", "2/0", "1"])
    assert set(tree.names) == {"all", "1", "2", "2/0", "2/1", "2/1/3"}
    ids = tree.ids()
    assert tree.parents[ids["2/1/3"]] == ids["2/1"]
    assert tree.parents.dtype == np.int32


def test_a_cycle_is_no_tree():
    with pytest.raises(DataError, match="their own ancestors"):
        Tree.of({"a": "b", "b": "a"}, ["c"])
