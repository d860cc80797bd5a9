// What is hidden is laid out once, for the page to be complete, and when it is shown again, which asks for that.
{
  const { LayoutDOMView } = Bokeh.require("models/layouts/layout_dom")
  const { PlotView } = Bokeh.require("models/plots/plot")
  for (const name of ["update_layout", "measure_layout", "_compute_layout", "after_layout"]) {
    const always = LayoutDOMView.prototype[name]
    LayoutDOMView.prototype[name] = function () {
      if (this.model.visible || !this.has_finished()) { always.call(this) }
    }
  }
  const { _invalidate_layout_if_needed } = PlotView.prototype
  PlotView.prototype._invalidate_layout_if_needed = function () {
    if (this.is_displayed) { _invalidate_layout_if_needed.call(this) }
  }
}
