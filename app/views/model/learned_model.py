"""The learned model at an iterate: its weights and its predictions."""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from solverscope.app import ui
from solverscope.app.ui import thumbnails
from solverscope.app.views.base.probe_view import ProbeView, Seen
from solverscope.app.views.model.model_figures import Pictures, TransitionFigure
from solverscope.solvers import LEARNED, Names
from solverscope.solvers.problems.metrics.followed import Examples

#: Maximal numbers of outputs whose features are listed, and of features with positive and with negative
#: weights for each.
MAX_LISTED_OUTPUTS, MAX_FEATURES_FOR, MAX_FEATURES_AGAINST = 12, 6, 3
#: Maximal numbers of features named for an example, and of its rows shown as images.
MAX_EXAMPLE_FEATURES, PICTURES = 6, 14
#: Maximal number of numeric targets shown for an example.
MAX_TARGETS = 3
#: Prefix of the name of a feature that is the word of a token.
WORD_PREFIX = "word="


class ModelView(ProbeView):
    """The learned model of the run under the cursor, at its iterate.

    If features are pixels, the weights of each output are an image, with lines for the strongest pairs of
    pixels. Otherwise the features with the largest weights for and against each output are listed.
    Transitions between labels and predictions for a few examples follow. These are from the test part, if
    there is one. Predicted numeric targets are compared with those of the data.
    """

    id = "model"
    title = "Weights"
    probe = LEARNED
    hint = "Run a solver to see its model as pictures or words, and its predictions."
    every = 2

    def build(self) -> None:
        self._pictures, self._transitions = Pictures(self.id), TransitionFigure(f"{self.id}-transitions")
        sheet = [ui.asset("html.css", "model.css")]
        self._features, self._examples = (
            ui.TextPane("", stylesheets=sheet, sizing_mode="stretch_width", margin=0) for _ in range(2)
        )
        self._places = {
            "pictures": ui.column(ui.pane(self._pictures.figure), kind="broad"),
            "features": ui.column(self._features, kind="broad"),
            "transitions": ui.column(ui.pane(self._transitions.figure), kind="narrow"),
            "examples": ui.column(self._examples, kind="narrow"),
        }
        self._across = ui.column(kind="across")
        self._head.append(ui.html(f"<h2>{self.title}</h2>"))
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
            numeric = seen["predicted"].dtype.kind == "f"
            self._features.object = listed(features, of, values, trace.names, outputs, numeric=numeric)
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


def listed(
    features: np.ndarray,
    of: np.ndarray,
    values: np.ndarray,
    names: Names,
    outputs: int,
    *,
    numeric: bool = False,
) -> str:
    """Return an HTML list of the features with the largest weights for and against each output.

    Parameters
    ----------
    features, of, values : array, shape (n,)
        Feature ``features[k]`` has the weight ``values[k]`` for output ``of[k]``.
    names : Names
        Names of features and outputs.
    outputs : int
        Number of outputs.
    numeric : bool
        Whether outputs are numeric targets, which features raise or lower.
    """
    if not values.size:
        return '<p class="note">All weights are zero.</p>'
    strength = np.bincount(of, np.abs(values), outputs)
    chosen = np.sort(
        np.argsort(-strength, kind="stable")[: min(MAX_LISTED_OUTPUTS, np.count_nonzero(strength))]
    )
    largest = float(np.abs(values).max())
    sections = []
    for c in chosen:
        mine = np.flatnonzero(of == c)
        order = mine[np.argsort(-values[mine], kind="stable")]
        best = [k for k in order[: MAX_FEATURES_FOR + (outputs == 1) * MAX_FEATURES_AGAINST] if values[k] > 0]
        worst = [
            k
            for k in order[::-1][: MAX_FEATURES_AGAINST + (outputs == 1) * MAX_FEATURES_FOR]
            if values[k] < 0
        ]
        lines = [_line(names.feature(int(features[k])), float(values[k]), largest) for k in (*best, *worst)]
        sections.append(
            f"<section><h3>{html.escape(names.output(int(c)))}</h3><ol>{''.join(lines)}</ol></section>"
        )
    left = np.count_nonzero(strength) - len(chosen)
    more = f'<p class="note">{ui.number(left)} more outputs have weights.</p>' if left else ""
    if numeric:
        note = "Features with the largest weights above zero (blue) and below (orange), by target."
    else:
        note = "Features with the largest weights for (blue) and against (orange) each output."
    return f'<p class="note">{note}</p><div class="classes">{"".join(sections)}</div>{more}'


def _line(name: str, value: float, largest: float) -> str:
    share, kind = 100.0 * abs(value) / largest, "more" if value > 0 else "less"
    name = html.escape(name)
    return (
        f'<li class="{kind}" style="--share:{share:.0f}%" title="{name}">'
        f"<span>{name}</span><b>{ui.number(value, 3)}</b></li>"
    )


def predictions(
    examples: Examples, predicted: np.ndarray, names: Names, sizes: Mapping[int, float], iteration: int
) -> str:
    """Return examples as HTML with the labels predicted at an iteration, and the true ones if they differ.

    ``sizes`` maps features to their largest absolute weights.
    """
    part = "test part" if examples.held_out else "training part, as there is no test part"
    at = ui.number(iteration)
    if examples.loss.numeric:
        return (
            f'<p class="note">First examples of the {part}: targets, and what the model at iterate {at} '
            "predicts.</p>"
            f'<div class="examples">{_with_targets(examples, predicted, names, sizes)}</div>'
        )
    ends, truths = np.cumsum(examples.lengths), examples.loss.truth
    figures, right = [], 0
    for end, length in zip(ends, examples.lengths, strict=True):
        rows = slice(int(end - length), int(end))
        truth, guess = ([_label(y, names) for y in labels[rows]] for labels in (truths, predicted))
        right += sum(a == b for a, b in zip(truth, guess, strict=True))
        figures.append(_example(examples.rows[rows], names, sizes, _labels_html(truth, guess)))
    count = f"{ui.number(right)} of {ui.number(int(ends[-1]))}"
    return (
        f'<p class="note">First examples of the {part}, labelled by the model at iterate {at}: '
        f"{count} right.</p>"
        f'<div class="examples">{"".join(figures)}</div>'
    )


def _with_targets(examples: Examples, predicted: np.ndarray, names: Names, sizes: Mapping[int, float]) -> str:
    """Return examples as HTML, each with its true and its predicted targets."""
    figures = []
    targets = examples.loss.labels.reshape(len(examples.lengths), -1)
    guesses = predicted.reshape(targets.shape)
    shown = min(targets.shape[1], MAX_TARGETS)
    left = targets.shape[1] - shown
    more = f"<span>and {ui.number(left)} more targets</span>" if left else ""
    for i, (guess, truth) in enumerate(zip(guesses, targets, strict=True)):
        pairs = (
            f"{html.escape(names.output(c))}: predicted {ui.number(guess[c], 3)}, is {ui.number(truth[c], 3)}"
            for c in range(shown)
        )
        said = "".join(f"<span>{pair}</span>" for pair in pairs) + more
        figures.append(_example(examples.rows[i : i + 1], names, sizes, said))
    return "".join(figures)


def _label(y: np.ndarray | int, names: Names) -> str:
    """Return the name of a label, or of several labels given as an indicator vector."""
    if np.ndim(y):
        return ", ".join(names.output(int(c)) for c in np.flatnonzero(y > 0)) or "none"
    if len(names.outputs) == 1:
        return names.output(0) if y > 0 else f"not {names.output(0)}"
    return names.output(int(y)) if y >= 0 else "unknown"


def _labels_html(truth: list[str], guess: list[str]) -> str:
    """Return the predicted labels as HTML with wrong ones highlighted, followed by the true ones if any is
    wrong."""
    apart = "" if all(len(label) == 1 for label in truth + guess) else " "
    told = apart.join(
        html.escape(g) if g == t else f'<b class="wrong">{html.escape(g)}</b>'
        for t, g in zip(truth, guess, strict=True)
    )
    true = "" if guess == truth else f"<figcaption>truth: {html.escape(apart.join(truth))}</figcaption>"
    return f"<span>{told}</span>{true}"


def _example(X: sp.csr_array, names: Names, sizes: Mapping[int, float], said: str) -> str:
    """Return one example, with rows X, as HTML: images, words, or the features with the largest
    contributions."""
    if names.picture_shape is not None:
        height, width = names.picture_shape
        values = X[:PICTURES, : height * width].toarray()
        low, high = min(values.min(), 0.0), max(values.max(), 1.0)
        pictures = ((values - low) / (high - low)).reshape(-1, height, width)
        return f"<figure>{thumbnails.strip(pictures)}{said}</figure>"
    words = [_word(X.indices[lo:hi], names) for lo, hi in itertools.pairwise(X.indptr)]
    if any(words):
        text = " ".join(word or "…" for word in words)
    else:
        weighed = np.abs(X.data[: X.indptr[1]]) * [sizes.get(int(j), 0.0) for j in X.indices[: X.indptr[1]]]
        order = np.argsort(-weighed, kind="stable")[:MAX_EXAMPLE_FEATURES]
        text = ", ".join(names.feature(int(j)) for j in X.indices[order[weighed[order] > 0.0]])
    return f'<figure class="text"><figcaption>{html.escape(text or "–")}</figcaption>{said}</figure>'


def _word(features: np.ndarray, names: Names) -> str | None:
    """Return the word of a token with these features, or None if no feature is a word."""
    found = (names.feature(int(j)) for j in features)
    return next((name.removeprefix(WORD_PREFIX) for name in found if name.startswith(WORD_PREFIX)), None)
