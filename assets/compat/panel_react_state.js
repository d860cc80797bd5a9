/*
package = "panel"
upstream = """\
Panel's useState reads a property when the component is drawn and listens in an effect, a moment later: a change in \
between is lost, as React warns (https://github.com/facebook/react/issues/14988; no issue found at Panel)."""
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
