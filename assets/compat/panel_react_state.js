// A component of React reads a property when it is drawn and listens for changes a moment later: it reads once more
// then, for what has changed in between.
{
  const LISTENS = "react_proxy.on(prop, cb, true)"
  const { prototype: component } = Bokeh.Models.get("panel.models.esm.ReactComponent")
  const { _render_code } = component
  component._render_code = function () { return _render_code.call(this).replace(LISTENS, `${LISTENS}; cb()`) }
}
