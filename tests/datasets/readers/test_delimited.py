"""CSV files as spreadsheets, data frames and archives write them: their columns, or one sentence."""

import csv
import io

import numpy as np
import pandas
import pytest

from solverscope.datasets import DataError
from solverscope.datasets.readers import delimited
from solverscope.datasets.readers.columns import Column

ROWS = [["5.1", "New York", "a"], ["4.9", "x, y", "b"], ["-1e-3", 'say "hi"', "a"], ["7", "", "b"]]


def columns(table):
    """The columns of a table as lists."""
    return [
        [column.values[code] for code in column.codes] if isinstance(column, Column) else column.tolist()
        for column in (*table.columns, table.labels)
    ]


RIGHT = [[5.1, 4.9, -1e-3, 7.0], ["New York", "x, y", 'say "hi"', ""], ["a", "b", "a", "b"]]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("names", [None, ["length", "place", "kind"]])
def test_each_dialect_gives_the_same_columns(written, separator, quoting, end, names):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerows([names, *ROWS] if names else ROWS)
    table = delimited.read(written(text.getvalue(), "a.csv"))
    assert columns(table) == RIGHT
    assert table.names == (("length", "place") if names else ("x1", "x2"))


def test_blanks_around_fields_a_mark_and_empty_lines_are_left_out(written):
    table = delimited.read(written("\ufeff 39, State-gov , <=50K\n\n50, Private, >50K\n \n"))
    assert columns(table) == [[39, 50], ["State-gov", "Private"], ["<=50K", ">50K"]]


def test_comments_above_the_rows_are_left_out(written):
    table = delimited.read(
        written("# from a place, by us, in 2020\n# unit cm\n#a,b\n1,x\n2,y\n3,x\n", "a.csv")
    )
    assert (table.names, columns(table)) == (("a",), [[1, 2, 3], ["x", "y", "x"]])
    with pytest.raises(DataError, match="line 2 has 1 field but most rows have 2"):
        delimited.read(written("1,x\n# unit cm\n2,y\n3,x\n", "a.csv"))


def test_a_field_may_go_over_lines(written):
    table = delimited.read(written('text,y\n"a\nb",1\nc,0\n', "a.csv"))
    assert [len(column) for column in columns(table)] == [2, 2]
    with pytest.raises(DataError, match="line 5 has 3 fields but most rows have 2"):
        delimited.read(written('text,y\n"a\nb",1\nc,0\nd,0,0\n', "a.csv"))


def test_numbers_are_read_as_numpy_reads_them(written):
    X = np.random.default_rng(0).normal(size=(9000, 3)) * 10.0 ** np.arange(-9, 9, 6)
    path = written("")
    np.savetxt(path, X, delimiter=",", fmt="%.17g", header="a,b,c")
    table = delimited.read(path)
    np.testing.assert_array_equal(np.stack(table.columns, axis=1), X[:, :2])
    assert table.names == ("a", "b")
    assert [*map(float, columns(table)[-1])] == X[:, 2].tolist()


def test_the_index_of_a_data_frame_is_no_feature(written):
    frame = pandas.DataFrame({"a": [1.5, 2, 3], "b": ["x", "y", "x"], "target": [0, 1, 0]})
    for index in (True, False):
        table = delimited.read(written(frame.to_csv(index=index), "a.csv"))
        assert table.names == ("a", "b")
        assert columns(table) == [[1.5, 2, 3], ["x", "y", "x"], ["0", "1", "0"]]


@pytest.mark.parametrize(
    ("text", "options", "features", "labels"),
    [
        ("a,Class,b\n1,x,2\n3,y,4\n", {}, ("a", "b"), ["x", "y"]),
        ("y,class,b\n1,x,2\n3,y,4\n", {}, ("y", "class"), ["2", "4"]),
        ("a,b,c\n1,x,2\n3,y,4\n", {"label": "B"}, ("a", "c"), ["x", "y"]),
        ("a,b,c\n1,x,2\n3,y,4\n", {"label": "1"}, ("b", "c"), ["1", "3"]),
        ("1,x,2\n3,y,4\n", {"label": "2"}, ("x1", "x3"), ["x", "y"]),
        ("a,b,c\n1,x,2\n3,y,4\n", {"drop": ["a"]}, ("b",), ["2", "4"]),
    ],
)
def test_the_label_is_the_column_that_is_called_so_or_named_or_the_last(
    written, text, options, features, labels
):
    table = delimited.read(written(text, "a.csv"), **options)
    assert table.names == features
    assert columns(table)[-1] == labels


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x,y,z\n" + "a,b,c\nb,b,d\na,a,c\n" * 3, True),
        ("a,b,c\n" + "b,b,d\na,a,c\n" * 3, False),
        ("1990,1991,z\n1,2,a\n3,4,b\n", False),
        ("id,1991,z\n1,2,0\n3,4,1\n", True),
        ("a,?,c\n1,2,0\n3,4,1\n", True),
        ("?,2,0\n1,2,0\n3,4,1\n", False),
    ],
)
def test_names_are_told_from_a_row(written, text, named):
    assert (delimited.layout(written(text, "a.csv")).names is not None) == named
    assert delimited.layout(written(text, "a.csv"), header="yes").names is not None
    assert delimited.layout(written(text, "a.csv"), header="no").names is None


def test_a_first_row_of_counts_and_classes_is_no_row(written):
    text = "4,4,setosa,versicolor,virginica\n5.1,3.5,1.4,0.2,0\n7,3.2,4.7,1.4,1\n6,3,5,2,2\n5,3,1,0.2,0\n"
    found = delimited.layout(written(text))
    assert (found.classes, found.width) == (("setosa", "versicolor", "virginica"), 5)
    assert columns(delimited.read(written(text)))[-1] == ["0", "1", "2", "0"]
    wide = text.replace("4,4,setosa,versicolor,virginica", "4,4,no,yes").replace(",2\n", ",1\n")
    assert delimited.layout(written(wide)).classes == ("no", "yes")
    with pytest.raises(DataError, match="has 4 rows, but its first line says 150: get it again"):
        delimited.read(written(text.replace("4,4,", "150,4,", 1)))


def test_blocks_are_put_together(written, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 7)
    table = delimited.read(written("".join(f"{i},t{i % 3},{i % 2}\n" for i in range(40)), "a.csv"))
    assert columns(table)[0] == [*range(40)]
    assert columns(table)[1][-2:] == ["t2", "t0"]


def test_a_test_part_has_the_columns_of_training(written):
    train = delimited.read(written("a,b,label\n1,x,0\n2,y,1\n", "a.csv"))
    table = delimited.read(written("3,x,0\n", "b.csv"), like=train)
    assert (table.names, columns(table)) == (("a", "b"), [[3.0], ["x"], ["0"]])
    for text, reason in [
        ("a,label\n1,0\n2,1\n", "has 2 columns but the training part has 3"),
        ("a,c,label\n1,x,0\n2,y,1\n", "has a column 'c' where the training part has 'b'"),
        ("x,1,0\ny,2,1\n", "line 1: a is 'x' where most rows have a number"),
    ]:
        with pytest.raises(DataError, match=reason):
            delimited.read(written(text, "b.csv"), like=train)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("word\nword\n", "has rows of different numbers of fields: give a row a line"),
        ("1,2,0\n1,2,1\n3,4\n5,6,0\n", "line 3 has 2 fields but most rows have 3: give each row as many"),
        ("1,2,0\n1,2,1\n3,4,5,0\n5,6,0\n", "line 3 has 4 fields but most rows have 3"),
        ("a,b,y\n1,2,0\n,4,1\n5,6,0\n", r"line 3: a has no value \(an empty field\); fill it in"),
        ("1,2,0\n?,4,1\n5,6,0\n", r"line 2: column 1 has no value \(\?\)"),
        ("a,y\n1,0\nNA,1\n3,0\n", r"line 3: a has no value \(NA\)"),
        ("a,y\n1,0\n1_0,1\n3,0\n", "line 3: a is '1_0' where most rows have a number"),
        ("a,y\n1,0\nx,1\n3,0\n", "line 3: a is 'x' where most rows have a number"),
        ("a;y\n1,5;0\n2;1\n3;0\n", "line 2: a is 1,5; write a decimal point in place of the comma"),
        ("a,y\n1,0\n-inf,1\n3,0\n", "line 3: a is -inf, which is infinite or too large"),
        ("a,y\n1,0\n1e999,1\n3,0\n", "line 3: a is 1e999, which is infinite or too large"),
        ("a,y\n1,0\n2,\n3,0\n", "line 3: y, the column of labels, has no value"),
        ("a,y\n1,0\n2,?\n3,0\n", "line 3: y, the column of labels, has no value"),
        ('a,y\n1,0\n"2,1\n3,0\n', "line 4: the quotes are not closed, or a field is too long"),
        (b"a,y\n1,0\n\xff,1\n", "line 3: this is not UTF-8"),
        ("1 |f a:1,2\n0 |f b:1,3\n", "has namespaces after"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(written, text, reason):
    with pytest.raises(DataError, match=f"^a.csv.*{reason}") as refused:
        delimited.read(written(text, "a.csv"))
    assert "\n" not in str(refused.value)


def test_a_column_that_is_not_there_is_refused_with_those_that_are(written):
    for options in ({"label": "kind"}, {"drop": ["kind"]}):
        with pytest.raises(DataError, match="has no column called 'kind': it has a, y"):
            delimited.read(written("a,y\n1,0\n2,1\n", "a.csv"), **options)
    with pytest.raises(DataError, match="no column called '3': give its number, from 1 to 2"):
        delimited.read(written("1,0\n2,1\n", "a.csv"), label="3")
