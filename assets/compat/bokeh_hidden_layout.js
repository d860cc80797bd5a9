/*
package = "bokeh"
upstream = "BokehJS lays out the plots of hidden tabs as well (https://github.com/bokeh/bokeh/issues/7438)."
without = "With six tabs opened a layout of the page takes nearly twice as long."
knows = [
    "server/static/js/bokeh.js:LayoutDOMView.update_layout",
    "server/static/js/bokeh.js:LayoutDOMView.measure_layout",
    "server/static/js/bokeh.js:LayoutDOMView._compute_layout",
    "server/static/js/bokeh.js:LayoutDOMView.after_layout",
    "server/static/js/bokeh.js:PlotView._invalidate_layout_if_needed",
]
digest = "21374d021d167058"
*/
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
