import numpy as np
import pytest

from solverscope.datasets import entity_scores
from solverscope.datasets.metrics import entity_f1

NAMES = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
WIDER = (*NAMES, "E-PER", "S-PER", "E-LOC", "S-LOC", "L-PER", "U-PER")


def scores(true, found, offsets, names=NAMES):
    code = {name: i for i, name in enumerate(names)}
    y = [np.array([code.get(tag, -1) for tag in tags.split()]) for tags in (true, found)]
    return entity_scores(names, *y, np.array(offsets))


def test_an_entity_counts_where_both_ends_and_the_type_are_right():
    result = scores("B-PER I-PER O B-LOC O B-PER", "B-PER I-PER O B-PER O B-PER", [0, 6])
    assert (result["PER"].true, result["PER"].found, result["PER"].correct) == (2, 3, 2)
    assert (result["LOC"].true, result["LOC"].found, result["LOC"].correct) == (1, 0, 0)
    assert result["all"].f1 == 2 * 2 / (3 + 3)
    assert result["LOC"].f1 == 0.0


def test_one_number_is_that_of_all_types():
    y = np.array([0, 1, 2]), np.array([0, 1, 0])
    assert entity_f1(NAMES, *y, np.array([0, 3])) == 0.0
    assert entity_f1(NAMES, y[0], y[0], np.array([0, 3])) == 1.0


def test_half_of_an_entity_is_none():
    result = scores("B-PER I-PER I-PER", "B-PER I-PER O", [0, 3])
    assert result["PER"].correct == 0


def test_an_inside_tag_starts_an_entity_where_it_continues_none():
    result = scores("O B-LOC I-LOC", "O I-LOC I-LOC", [0, 3])
    assert result["LOC"].correct == 1
    result = scores("B-PER B-LOC", "I-PER I-LOC", [0, 2])
    assert result["all"].correct == 2


def test_entities_do_not_cross_sentences():
    joined, parted = (
        scores("B-PER I-PER", "B-PER I-PER", [0, 2]),
        scores("B-PER I-PER", "B-PER I-PER", [0, 1, 2]),
    )
    assert (joined["PER"].true, parted["PER"].true) == (1, 2)


def test_adjacent_entities_are_two():
    result = scores("B-PER B-PER", "B-PER I-PER", [0, 2])
    assert (result["PER"].true, result["PER"].found, result["PER"].correct) == (2, 1, 0)


def test_tags_unseen_in_training_and_no_entities_at_all_give_zero():
    result = scores("B-ORG O", "O O", [0, 2])
    assert (result["all"].true, result["all"].f1, result["all"].precision, result["all"].recall) == (
        0,
        0.0,
        0.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("tags", "same"),
    [
        ("B-PER I-PER E-PER O S-LOC", "B-PER I-PER I-PER O B-LOC"),
        ("S-PER S-PER B-PER E-PER", "B-PER B-PER B-PER I-PER"),
        ("B-PER E-PER B-PER E-PER", "B-PER I-PER B-PER I-PER"),
        ("B-PER L-PER U-PER", "B-PER I-PER B-PER"),
        ("B-PER E-PER I-PER", "B-PER I-PER B-PER"),
        ("S-PER E-PER E-PER", "B-PER B-PER B-PER"),
        ("S-PER I-PER E-LOC", "B-PER B-PER B-LOC"),
        ("E-PER E-LOC B-PER", "B-PER B-LOC B-PER"),
        ("O E-PER O I-PER E-PER", "O B-PER O B-PER I-PER"),
    ],
)
def test_tags_of_iobes_and_bilou_are_the_same_entities(tags, same):
    n = len(tags.split())
    result = scores(tags, same, [0, n], WIDER)
    assert result["all"].true == result["all"].found == result["all"].correct > 0
    assert "O" not in result
    assert set(result) == {"all", "PER", "LOC"}


def test_a_single_token_entity_that_is_missed_counts_as_missed():
    result = scores("S-PER O S-LOC", "S-PER O O", [0, 3], WIDER)
    assert (result["all"].true, result["all"].correct, result["LOC"].recall) == (2, 1, 0.0)
