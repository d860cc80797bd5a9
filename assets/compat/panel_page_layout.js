// The whole page is one component of Panel, which all others in it ask for a layout: it is laid out once a frame.
{
  const { prototype: root } = Object.getPrototypeOf(
    Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view,
  )
  const { compute_layout, invalidate_layout } = root
  const asked = new Map() // whether the styles have changed too, by the view that is to be laid out
  const lay_out = () => {
    const views = [...asked]
    asked.clear()
    const together = window.styleSheets?.together ?? ((change) => change())
    for (const [view, restyled] of views) {
      if (restyled) { together(() => view.update_layout()) }
      compute_layout.call(view)
    }
  }
  const ask = (view, restyled) => {
    if (asked.size === 0) { requestAnimationFrame(lay_out) }
    asked.set(view, restyled || asked.get(view))
  }
  root.compute_layout = function () {
    if (this.is_managed) { compute_layout.call(this) } else { ask(this, false) }
  }
  root.invalidate_layout = function () {
    if (this.is_managed) { invalidate_layout.call(this) } else { ask(this, true) }
  }
}
