"""The card of a data set: its description, its size, a few examples."""

from __future__ import annotations

import html
import math

from solverscope import datasets, solvers
from solverscope.app.ui import capital, number
from solverscope.app.ui.thumbnails import strip
from solverscope.datasets.kinds import NUMERIC

DATA_KINDS = {
    "binary": "two classes",
    "multiclass": "{n} classes",
    "multilabel": "{n} labels",
    "sequences": "sequences over {n} labels",
    "tree": "a tree of {n} nodes",
    "regression": "a numeric target",
    "multitask": "{n} numeric targets",
}
EXAMPLES = 3
#: Maximal numbers of characters of the text and of the label of an example.
MAX_TEXT_LETTERS, MAX_LABEL_LETTERS = 90, 24


def card(data: datasets.Dataset, problem: solvers.Problem) -> str:
    """Return the HTML of the card: a line, and size and examples that can be expanded."""
    rows = number(data.train.X.shape[0])
    sequences = data.offsets is not None
    size = f"{number(data.n_samples)} sequences, {rows} tokens" if sequences else f"{rows} samples"
    facts = [
        ("n", size),
        ("d", f"{number(problem.size)} weights, {number(data.n_features)} features"),
        (
            "target" if data.kind in NUMERIC else "labels",
            DATA_KINDS.get(data.kind, "").format(n=number(data.n_classes)),
        ),
        ("density", f"{number(100 * problem.design.nnz / math.prod(data.train.X.shape), 3)} %"),
    ]
    if data.kind == "function":
        facts = [("d", f"a function of {number(problem.size)} weights")]
    if known := suggested(data, problem):
        facts.append(("λ", f"suggested {known}"))
    table = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in facts)
    shown = "".join(_example(example, data.texts is None) for example in data.examples(EXAMPLES))
    return (
        f'<div title="{html.escape(data.description)} Source: {html.escape(data.source)}">'
        f"<details><summary>{html.escape(capital(data.summary))}</summary>"
        f'<div class="examples">{shown}</div><dl>{table}</dl></details></div>'
    )


def suggested(data: datasets.Dataset, problem: solvers.Problem) -> str:
    """Describe the solution at the suggested λ of a data set.

    Return "" if there is no suggestion for these options, or if loss or penalty differ from the defaults.
    """
    own = (problem.loss.id, problem.penalty.id) == (data.loss, data.penalty)
    lam = datasets.describe(data.id).lam_for(data.options) if own else None
    if lam is None:
        return ""
    used = f"{number(lam.nonzeros)} non-zeros"
    return f"λ = {number(lam.value)}: {used}, {problem.loss.metric_name} {number(lam.metric, 3)}"


def _example(example: datasets.Example, listed: bool) -> str:
    """Return the HTML of a sample; if its text is ``listed``, a list of features, lines break only between
    them."""
    label = html.escape(shortened(example.label, MAX_LABEL_LETTERS))
    if example.pictures is not None:
        pictures = example.pictures[:8]
        if len(example.label) == len(example.pictures):  # one letter a picture
            label = html.escape(example.label[: len(pictures)])
        return f"<figure>{strip(pictures)}<figcaption>{label}</figcaption></figure>"
    text = example.text or ""
    if listed:
        text = ", ".join(one.replace(" ", "\u00a0") for one in text.split(", "))
    text = html.escape(shortened(text, MAX_TEXT_LETTERS))
    return f'<figure class="text"><figcaption>{label}</figcaption><span>{text}</span></figure>'


def shortened(text: str, most: int) -> str:
    """Cut a text to at most ``most`` characters, at the end of a word if possible, and append an ellipsis."""
    if len(text) <= most:
        return text
    room = most - 2
    end = max(text.rfind(space, 0, room + 1) for space in " \n\t")
    if end <= 0:
        return f"{text[: most - 1]}…"
    return f"{text[:end].rstrip(' ,;')} …"
