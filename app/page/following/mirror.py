"""Copying of a view's settings to another view of the same class."""

from __future__ import annotations

from solverscope.app.views import View

#: Types of the values of menus, sliders and fields; parameters of other types are what a view draws.
PLAIN_TYPES = (str, int, float, bool, type(None))


def mirror(view: View, other: View) -> None:
    """Copy the settings of a view, and of its parts, to another view of the same class.

    These are its axes, menus, sliders and fields, and the zoom of each plot.
    """
    _same_settings(view, other)
    figures = {drawn.name: drawn for _, drawn in view.shown_figures()}
    for _, own in other.shown_figures():
        if (lead := figures.get(own.name)) is not None:
            for led, leading in ((own.x_range, lead.x_range), (own.y_range, lead.y_range)):
                if led.tags != leading.tags:
                    led.tags = list(leading.tags)


def settings(view: View) -> dict[str, object]:
    """Return the settings of a view by the names of its parameters."""
    own = [name for name in view.param if name not in View.param]
    return {name: value for name in own if isinstance(value := getattr(view, name), PLAIN_TYPES)}


def _same_settings(view: View, other: View) -> None:
    for part, its in zip(view.parts, other.parts, strict=False):
        _same_settings(part, its)
    for _ in range(2):  # with one setting another may take its default: a field of a record, its scale
        current = settings(other)
        wanted = settings(view).items()
        if not (changed := {name: value for name, value in wanted if current.get(name, value) != value}):
            return
        other.param.update(**changed)
