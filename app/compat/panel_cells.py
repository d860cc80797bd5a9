"""Hooks into Panel's output of a notebook cell: a call before it is shown, and its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bokeh.model import Model
from panel.config import panel_extension
from panel.viewable import Viewable

#: What is shown, its root, what changed in it, and its old models.
Hook = Callable[[Viewable, Model, Viewable, "Sequence[Model] | None"], None]


def before_shown(hook: Hook) -> None:
    """Call ``hook`` before Panel shows or changes anything."""
    if hook not in Viewable._preprocessing_hooks:
        Viewable._preprocessing_hooks.append(hook)


def models_of(changed: Viewable, root: Model) -> Model:
    """Return the model of a part of the output."""
    return changed._models[root.ref["id"]][0]


def loaded() -> bool:
    """Return whether Panel's scripts have been loaded into the notebook."""
    return panel_extension._loaded
