"""Access to Panel's output of a notebook cell: a call before it is shown, its models and their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent
from bokeh.model import Model
from panel.config import panel_extension
from panel.io.state import state
from panel.models.comm_manager import CommManager
from panel.viewable import Viewable

#: Function of the displayed object, its root model, the changed part, and the previous models.
Hook = Callable[[Viewable, Model, Viewable, "Sequence[Model] | None"], None]


def before_shown(hook: Hook) -> None:
    """Call ``hook`` before Panel shows or changes any output."""
    if hook not in Viewable._preprocessing_hooks:
        Viewable._preprocessing_hooks.append(hook)


def models_of(changed: Viewable, root: Model) -> Model:
    """Return the model of a part of the output with this root."""
    return changed._models[root.ref["id"]][0]


def loaded() -> bool:
    """Return whether Panel's scripts have been loaded into the notebook."""
    return panel_extension._loaded


def document_of(id: str) -> Document:
    """Return the document of an output, given the id of its root."""
    return state._views[id][2]


def note_changes(document: Document, note: Callable[[Model, str], None]) -> None:
    """Call ``note`` with the model and the property of each change that the browser did not make."""
    callbacks = document.callbacks
    trigger = callbacks.trigger_on_change

    def noted(event: DocumentChangedEvent) -> None:
        model, attr = getattr(event, "model", None), getattr(event, "attr", None)
        if isinstance(model, Model) and isinstance(attr, str) and event.setter is None:
            note(model, attr)
        trigger(event)

    callbacks.trigger_on_change = noted


def forget_changes(document: Document) -> None:
    """Drop changes that Panel has queued, as the browser already has them."""
    document.callbacks._held_events = []
    document.models.flush_synced()


@contextmanager
def without_sending() -> Iterator[None]:
    """Keep Panel from sending the changes made in the block."""
    before, state._hold = state._hold, True
    try:
        yield
    finally:
        state._hold = before


def take_messages(document: Document, take: Callable[[Callable[[object], None], object], None]) -> None:
    """Call ``take`` for each message of the browser, with Panel's handler and the message."""
    for manager in document.roots:
        if isinstance(manager, CommManager):
            comm: Any = state._comm_manager._comms[manager.client_comm_id]
            comm._on_msg = partial(take, comm._on_msg)
