"""What was learned: the model that the weights of an iterate make."""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping

import numpy as np
import panel as pn
import scipy.sparse as sp

from solverscope.app import ink, theme
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.model.model_figures import Pictures, Transitions
from solverscope.solvers import LEARNED, Names
from solverscope.solvers.problems.metrics.followed import Examples

#: Outputs whose features are listed, at most, and features listed of each, for it and against it.
OUTPUTS, FOR, AGAINST = 12, 6, 3
#: Features named of an example, and rows of it shown as pictures, at most.
NAMED, PICTURES = 6, 14
#: How the name of a feature begins that tells which word a token of a sequence is.
WORD = "word="


class Model(ProbeView):
    """The model of the run under the cursor at its iterate: where features are pixels the weights of each
    output as a picture, with the strongest pairs of pixels as lines; else the features with the largest
    weights for and against each output; the transitions between labels; and what the model says of a few
    examples, which no solver has seen if the data have a test part."""

    id = "model"
    title = "Weights"
    probe = LEARNED
    hint = "Run a solver to see its model as pictures or words, and its predictions."
    every = 2

    def build(self) -> None:
        self._pictures, self._transitions = Pictures(self.id), Transitions(f"{self.id}-transitions")
        sheet = [theme.asset("html.css", "model.css")]
        self._features, self._examples = (
            pn.pane.HTML("", stylesheets=sheet, sizing_mode="stretch_width", margin=0) for _ in range(2)
        )
        self._places = {
            "pictures": theme.column(theme.pane(self._pictures.figure), kind="broad"),
            "features": theme.column(self._features, kind="broad"),
            "transitions": theme.column(theme.pane(self._transitions.figure), kind="narrow"),
            "examples": theme.column(self._examples, kind="narrow"),
        }
        self._across = theme.column(kind="across")
        self._head.append(theme.html(f"<h2>{self.title}</h2>"))
        self._body.append(self._across)

    def draw_seen(self, iteration: int, seen: Seen) -> None:
        trace = self.chosen
        about = trace.info.problem
        outputs = about["n_outputs"]
        labels = [trace.names.output(c) for c in range(outputs)]
        body = seen["indices"] < about["n_features"] * outputs
        features, of = np.divmod(seen["indices"][body], outputs)
        values = seen["values"][body]
        shown = ["examples"]
        if "tail" in seen and seen["tail"].size >= outputs**2:
            self._transitions.show(seen["tail"].reshape(-1, outputs), labels)
            shown.insert(0, "transitions")
        if "pixels" in seen:
            self._pictures.show(seen["pixels"], features, of, values, trace.names)
            shown.insert(0, "pictures")
        else:
            self._features.object = listed(features, of, values, trace.names, outputs)
            shown.insert(0, "features")
        if trace.problem is not None:
            looked_at = dict.fromkeys(features.tolist(), 0.0)
            for j, value in zip(features.tolist(), np.abs(values).tolist(), strict=True):
                looked_at[j] = max(looked_at[j], value)
            self._examples.object = predictions(
                trace.problem.examples(), seen["predicted"], trace.names, looked_at, iteration
            )
        places = [self._places[name] for name in shown]
        if list(self._across) != places:
            self._across.objects = places


def listed(features: np.ndarray, of: np.ndarray, values: np.ndarray, names: Names, outputs: int) -> str:
    """Return the features with the largest weights for and against each output as HTML. Entry k says that
    feature ``features[k]`` has the weight ``values[k]`` for output ``of[k]``."""
    if not values.size:
        return '<p class="note">All weights are zero.</p>'
    strength = np.bincount(of, np.abs(values), outputs)
    chosen = np.sort(np.argsort(-strength, kind="stable")[: min(OUTPUTS, np.count_nonzero(strength))])
    largest = float(np.abs(values).max())
    sections = []
    for c in chosen:
        mine = np.flatnonzero(of == c)
        order = mine[np.argsort(-values[mine], kind="stable")]
        best = [k for k in order[: FOR + (outputs == 1) * AGAINST] if values[k] > 0]
        worst = [k for k in order[::-1][: AGAINST + (outputs == 1) * FOR] if values[k] < 0]
        lines = [_line(names.feature(int(features[k])), float(values[k]), largest) for k in (*best, *worst)]
        sections.append(
            f"<section><h3>{html.escape(names.output(int(c)))}</h3><ol>{''.join(lines)}</ol></section>"
        )
    left = np.count_nonzero(strength) - len(chosen)
    more = f'<p class="note">{theme.number(left)} more outputs have weights.</p>' if left else ""
    return (
        '<p class="note">Features with the largest weights for (blue) and against (orange) each output.</p>'
        f'<div class="classes">{"".join(sections)}</div>{more}'
    )


def _line(name: str, value: float, largest: float) -> str:
    share, kind = 100.0 * abs(value) / largest, "more" if value > 0 else "less"
    name = html.escape(name)
    return (
        f'<li class="{kind}" style="--share:{share:.0f}%" title="{name}">'
        f"<span>{name}</span><b>{theme.number(value, 3)}</b></li>"
    )


def predictions(
    examples: Examples, predicted: np.ndarray, names: Names, sizes: Mapping[int, float], iteration: int
) -> str:
    """Return examples as HTML, each with the labels that the model of an iterate gives and, where these are
    wrong, with its own; ``sizes`` are the largest weights of features."""
    ends, truths = np.cumsum(examples.lengths), examples.loss.truth
    figures, right = [], 0
    for end, length in zip(ends, examples.lengths, strict=True):
        rows = slice(int(end - length), int(end))
        truth, guess = ([_label(y, names) for y in labels[rows]] for labels in (truths, predicted))
        right += sum(a == b for a, b in zip(truth, guess, strict=True))
        figures.append(_example(examples.rows[rows], names, sizes, _labels_html(truth, guess)))
    part = "test part" if examples.held_out else "training part, as there is no test part"
    at, count = theme.number(iteration), f"{theme.number(right)} of {theme.number(int(ends[-1]))}"
    return (
        f'<p class="note">First examples of the {part}, labelled by the model at iterate {at}: '
        f"{count} right.</p>"
        f'<div class="examples">{"".join(figures)}</div>'
    )


def _label(y: np.ndarray | int, names: Names) -> str:
    """Name a label, or labels given as 0 and 1 each, in the coding of the data set."""
    if np.ndim(y):
        return ", ".join(names.output(int(c)) for c in np.flatnonzero(y > 0)) or "none"
    if len(names.outputs) == 1:
        return names.output(0) if y > 0 else f"not {names.output(0)}"
    return names.output(int(y)) if y >= 0 else "unknown"


def _labels_html(truth: list[str], guess: list[str]) -> str:
    """Return the labels that the model gives as HTML, wrong ones marked, and then the true ones too."""
    apart = "" if all(len(label) == 1 for label in truth + guess) else " "
    told = apart.join(
        html.escape(g) if g == t else f'<b class="wrong">{html.escape(g)}</b>'
        for t, g in zip(truth, guess, strict=True)
    )
    true = "" if guess == truth else f"<figcaption>truth: {html.escape(apart.join(truth))}</figcaption>"
    return f"<span>{told}</span>{true}"


def _example(X: sp.csr_array, names: Names, sizes: Mapping[int, float], said: str) -> str:
    """Return one example, of these rows, as HTML: pictures, words, or the features that weigh most."""
    if names.picture_shape is not None:
        height, width = names.picture_shape
        values = X[:PICTURES, : height * width].toarray()
        low, high = min(values.min(), 0.0), max(values.max(), 1.0)
        pictures = ((values - low) / (high - low)).reshape(-1, height, width)
        return f"<figure>{ink.strip(pictures)}{said}</figure>"
    words = [_word(X.indices[lo:hi], names) for lo, hi in itertools.pairwise(X.indptr)]
    if any(words):
        text = " ".join(word or "…" for word in words)
    else:
        weighed = np.abs(X.data[: X.indptr[1]]) * [sizes.get(int(j), 0.0) for j in X.indices[: X.indptr[1]]]
        order = np.argsort(-weighed, kind="stable")[:NAMED]
        text = ", ".join(names.feature(int(j)) for j in X.indices[order[weighed[order] > 0.0]])
    return f'<figure class="text"><figcaption>{html.escape(text or "–")}</figcaption>{said}</figure>'


def _word(features: np.ndarray, names: Names) -> str | None:
    """Return which word a token with these features is, if one of them tells."""
    found = (names.feature(int(j)) for j in features)
    return next((name.removeprefix(WORD) for name in found if name.startswith(WORD)), None)
