"""A click is handled under the lock of its document, also while a change of a field waits."""

from __future__ import annotations

from panel.io import with_lock
from panel.reactive import Syncable

from solverscope.app.compat.change import Change

EVENT_LOCK_REPORT = """\
# A click within 50 ms of a changed widget is handled without the document lock

## What is wrong

`Syncable._server_change` waits `_debounce` (50 ms) before it handles the change of a widget. If an event of
a model, such as a click, comes meanwhile, `Syncable._server_event` schedules `Syncable._event_coroutine`,
which first handles the changes that wait. It does so through `state.execute(cb, schedule=True)`.
`_event_coroutine` is not decorated by `with_lock`, so that `async_execute` marks it `nolock`: both
callbacks run without the lock of the document. Where they change a model of Bokeh directly, Bokeh raises

    RuntimeError: _pending_writes should be non-None when we have a document lock, and we should have the
    lock when the document changes

`_change_coroutine` has the decorator. With it on `_event_coroutine` the error is gone. A report with the
same error is #1447.

## Smallest example

```python
import panel as pn
from bokeh.plotting import figure

plot = figure(height=200)
field = pn.widgets.IntSlider(name="n", end=9)
button = pn.widgets.Button(name="Press")


def press(event):
    plot.title.text = f"{field.value}"  # a change of a model, not of a component of Panel


button.on_click(press)
pn.Column(field, button, plot).servable()
```

`panel serve example.py`, then in the browser's console, so that both arrive within 50 ms:

```js
const [doc] = Bokeh.documents
const [slider] = [...doc._all_models.values()].filter((m) => m.type.endsWith("Slider"))
const [button] = [...doc._all_models.values()].filter((m) => m.type.endsWith("Button"))
slider.value = 3
button.trigger_event(new (Bokeh.require("core/bokeh_events").ButtonClick)())
```

The server's log has the error above, and the title stays as it is.

## Versions

panel 1.9.4 with bokeh 3.9.2 (Python 3.11), and panel 1.10.0 with bokeh 3.10.2 (Python 3.13), Linux.
"""
CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="Panel waits 50 ms for more of a field's change. A click that comes meanwhile is handled by "
    "Syncable._event_coroutine, and that change before it, without the lock: Bokeh then raises "
    "'_pending_writes should be non-None' (reported as "
    "https://github.com/holoviz/panel/issues/1447).",
    report=EVENT_LOCK_REPORT,
    without="A click within 50 ms of a changed field may fail.",
    knows=("panel.reactive:Syncable._event_coroutine", "panel.reactive:Syncable._server_event"),
    digests=("b3f87565cf3827cc",),
)


@CHANGE.once
def apply() -> None:
    """Make the change."""
    Syncable._event_coroutine = with_lock(Syncable._event_coroutine)
