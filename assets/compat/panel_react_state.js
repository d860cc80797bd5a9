/*
package = "panel"
upstream = """\
Panel's useState reads a property when the component is drawn and listens in an effect, a moment later: a change in \
between is lost, as React warns (https://github.com/facebook/react/issues/14988; no issue found at Panel)."""
report = '''
# A change between drawing a React component and its effects is lost by useState

## What is wrong

`model.useState(prop)` reads the property while the component is drawn (`React.useState(model.attributes[attr])`) and
listens for changes in `React.useEffect`, which runs later. A change that the server sends in between is in the model,
but the component keeps the value that it was drawn with until the property changes once more. React describes this as
what `useSyncExternalStore` is for (https://github.com/facebook/react/issues/14988).

## Smallest example

```python
import panel as pn
import panel_material_ui as pmui

pn.extension()
buttons = [pmui.Button(label=str(k), disabled=True) for k in range(300)]
column = pmui.Column()


def add():
    column.objects = buttons
    for button in buttons:
        button.disabled = False  # may arrive between the drawing of a button and its effects


pn.state.onload(add)
column.servable()
```

On a slow machine (developer tools, Performance, CPU: 20x slowdown) some buttons stay grey now and then.

A remedy: call `cb()` after `react_proxy.on(prop, cb, true)`.

## Versions

panel 1.9.4 with bokeh 3.9.2 (Python 3.11), and panel 1.10.0 with bokeh 3.10.2 (Python 3.13), Chromium, Linux.
'''
without = "On a busy machine a button may stay grey."
knows = [
    "dist/lib/models/reactive_esm.js:ReactiveESM.watch",
    "dist/lib/models/react_component.js",
]
digests = ["c5aefd10d69950ed", "46bb01ce739d69f3"]
*/
// A component of React reads a property when it is drawn and listens for changes a moment later: it reads once more
// then, for what has changed in between. Only useState listens by force.
{
  const { prototype: component } = Object.getPrototypeOf(Bokeh.Models.get("panel.models.esm.ReactComponent"))
  const { watch } = component
  component.watch = function (view, prop, read, force = false) {
    watch.call(this, view, prop, read, force)
    if (force) { read() }
  }
}
