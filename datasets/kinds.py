"""The kinds of labels."""

DEFAULT_LOSSES = {
    "binary": "logistic",
    "multiclass": "multiclass-logistic",
    "multilabel": "multilabel-squared-hinge",
    "sequences": "chain-crf",
    "tree": "tree-softmax",
    "regression": "squared",
    "multitask": "multitask-squared",
    "function": "toy",
}
"""Default loss of each kind of labels."""

NUMERIC = ("regression", "multitask")
"""Kinds of labels that are numeric targets: one, or several."""

ONE_CLASS = ("binary", "multiclass", "tree")
"""Kinds of labels of which each sample has one, a class."""
