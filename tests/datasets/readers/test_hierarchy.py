import pytest

from solverscope import datasets
from solverscope.datasets import DataError
from solverscope.datasets.readers import hierarchy


@pytest.mark.parametrize("text", ["1 2 3\n1 2 4\n5 6\n", "1 2\n2 3\n2 4\n5 6\n"])
def test_paths_and_pairs_make_the_same_tree(written, text):
    tree = hierarchy.read(written(text))
    assert tree.names == ("all", "1", "5", "2", "6", "3", "4")
    assert tree.parents.tolist() == [-1, 0, 0, 1, 2, 3, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("1 2\n3\n", "line 2 holds one node only"),
        ("1 2\n3 2\n", "line 2: node 2 has two parents, 1 and 3"),
        ("1 1\n", "line 1: node 1 has two parents"),
        ("1 2\n2 3\n3 1\n4 5\n", "their own ancestors"),
        ("1 2\n2 1\n", "their own ancestors"),
    ],
)
def test_what_is_no_tree_is_refused(written, text, words):
    with pytest.raises(DataError, match=words):
        hierarchy.read(written(text))


class TestOwnFiles:
    HIERARCHY = "1 2 3\n1 2 4\n5 6\n"

    def test_documents_get_the_nodes_of_their_leaves(self, written):
        documents, above = written("3 0:7 10:2 5:1\n6 10:4\n4 7:1\n", "docs"), written(self.HIERARCHY)
        test = written("6 99:1 10:2\n", "test")
        data = datasets.load(f"lshtc:{documents},{above}", test=str(test))
        assert [data.label_names[node] for node in data.y] == ["3", "6", "4"]
        assert list(data.feature_names) == ["word 5", "word 7", "word 10"]
        assert data.X.toarray().tolist() == [[1, 0, 0.5], [0, 0, 1], [0, 1, 0]]
        assert data.test.X.toarray().tolist() == [[0, 0, 0.5]]
        assert data.parents[data.y[0]] == data.label_names.index("2")
        assert data.source == str(documents)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("3 1:1\n2 1:1\n", "line 2: 2 is no leaf of file.txt"),
            ("3 1:1\n9 1:1\n", "line 2: 9 is no leaf"),
            ("3,4 1:1\n", "line 1: a document of a tree has one leaf"),
            ("3 0:1\n4 0:2\n", "has no word"),
        ],
    )
    def test_documents_that_do_not_fit_the_tree_are_refused(self, written, text, words):
        documents, above = written(text, "docs"), written(self.HIERARCHY)
        with pytest.raises(DataError, match=words):
            datasets.load(f"lshtc:{documents},{above}")
