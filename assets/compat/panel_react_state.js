/*
package = "panel"
upstream = """\
Panel's useState reads a property when the component is drawn and listens in an effect, a moment later: a change in \
between is lost, as React warns (https://github.com/facebook/react/issues/14988; no issue found at Panel)."""
without = "On a busy machine a button may stay grey."
knows = ["dist/lib/models/react_component.js"]
digest = "a2b691ef16ca5b7b"
*/
// A component of React reads a property when it is drawn and listens for changes a moment later: it reads once more
// then, for what has changed in between.
{
  const LISTENS = "react_proxy.on(prop, cb, true)"
  const { prototype: component } = Bokeh.Models.get("panel.models.esm.ReactComponent")
  const { _render_code } = component
  component._render_code = function () { return _render_code.call(this).replace(LISTENS, `${LISTENS}; cb()`) }
}
