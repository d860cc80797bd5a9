"""Bokeh finds a default out once for a class of models, and not at each look at each model."""

from __future__ import annotations

from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.core.property.wrappers import PropertyValueContainer

from solverscope.app.compat.change import Change

DEFAULTS_REPORT = """\
# A default of a property is found, copied, checked and wrapped anew at each look

## What is wrong

`PropertyDescriptor._get_default` calls `Property.themed_default` for each look at a property that has not
been set. That collects `__overridden_defaults__` of all base classes, copies the default, calls
`prepare_value` and wraps the result, also where the default is a number or an empty list.
`HasProps.__init__`, `references()` and `to_json()` go through all properties, so that a document of 300
models makes 25,000 such looks before it is sent.

The defaults that are not unstable are the same for all models of a class that have no theme: one dictionary a
class, filled at the first look, is enough. #13174 did this for the unstable ones.

## Smallest example

```python
import time

from bokeh.plotting import figure

plots = [figure() for _ in range(20)]
began = time.process_time()
for plot in plots:
    for model in plot.references():
        model.properties_with_values()
print(time.process_time() - began)
```

About half of that time is spent in `Property.themed_default`.

## Versions

bokeh 3.9.2 (Python 3.11) and bokeh 3.10.2 (Python 3.13), Linux.
"""
CHANGE = Change(
    name=__name__,
    package="bokeh",
    upstream="Each look at a property that has not been set collects the defaults of all base classes, "
    "copies this one, checks it and wraps it, also where it is a number or an empty list "
    "(as in https://github.com/bokeh/bokeh/pull/13174).",
    report=DEFAULTS_REPORT,
    without="The server needs 0.71 to 0.76 CPU seconds in place of 0.57 to make the document of a page.",
    knows=(
        "bokeh.core.property.descriptors:PropertyDescriptor._get_default",
        "bokeh.core.property.descriptors:PropertyDescriptor.instance_default",
        "bokeh.core.property.descriptors:PropertyDescriptor.has_unstable_default",
        "bokeh.core.property.bases:Property.themed_default",
        "bokeh.core.has_props:HasProps.themed_values",
        "bokeh.core.has_props:HasProps._overridden_defaults",
    ),
    digests=("a57906daa6bb03ea", "2a5f77c252927e68"),
)

#: Types of defaults that all models of a class may share, and of those that each model has of its own and
#: that are shared while they are empty.
SHARED_TYPES = (type(None), bool, int, float, str)
OWN_TYPES = (list, dict, set)

#: What is known of a class by the property's name: the default, or what makes an empty one.
_known: WeakKeyDictionary[type, dict[str, tuple[Any, type | None]]] = WeakKeyDictionary()


@CHANGE.once
def apply() -> None:
    """Make the change."""
    find = PropertyDescriptor._get_default

    @wraps(find)
    def default(self: PropertyDescriptor, model: HasProps) -> Any:
        name, themed = self.name, vars(model).get("__themed_values__")
        if themed is not None and name in themed:
            return find(self, model)
        own = model._unstable_default_values
        if name in own:
            return own[name]
        known = _known.setdefault(type(model), {})
        if name not in known:
            value = find(self, model)
            if (kept := _kept(self, model, value)) is not None:
                known[name] = kept
            return value
        value, empty = known[name]
        if empty is not None:
            value = own[name] = self.property.wrap(empty())
            value._register_owner(model, self)
        return value

    PropertyDescriptor._get_default = default


def _kept(self: PropertyDescriptor, model: HasProps, value: Any) -> tuple[Any, type | None] | None:
    """Return what is known from now on; None where each model may have a default of its own."""
    given = type(model)._overridden_defaults().get(self.name, self.property._default)
    if type(given) in OWN_TYPES and not given and isinstance(value, PropertyValueContainer):
        return None, type(given)
    if {type(given), type(value)} <= set(SHARED_TYPES) and not self.has_unstable_default(model):
        return value, None
    return None
