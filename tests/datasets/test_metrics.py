import numpy as np

from datasets import entity_scores
from datasets.metrics import entity_f1

NAMES = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def scores(true, found, offsets):
    code = {name: i for i, name in enumerate(NAMES)}
    y = [np.array([code.get(tag, -1) for tag in tags.split()]) for tags in (true, found)]
    return entity_scores(NAMES, *y, np.array(offsets))


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
