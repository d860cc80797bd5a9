/*
package = "bokeh"
upstream = "BokehJS lays out the whole page for it (https://github.com/bokeh/bokeh/issues/12129)."
without = """\
Where tick labels become wider, a plot is painted with them and its titles outside its canvas until the page is laid \
out, which takes 1.5 times as long as five plots alone."""
knows = [
    "server/static/js/bokeh.js:LayoutDOMView.compute_layout",
    "server/static/js/bokeh.js:LayoutDOMView.measure_layout",
    "server/static/js/bokeh.js:LayoutDOMView.update_bbox",
    "server/static/js/bokeh.js:LayoutDOMView._compute_layout",
    "server/static/js/bokeh.js:LayoutDOMView.after_layout",
    "server/static/js/bokeh.js:PlotView._invalidate_layout_if_needed",
]
digests = ["f38339f518f9b58d"]
*/
// A plot whose tick labels have become wider is laid out alone: no plot here is as large as what is in it, so the rest
// of the page stays where it is.
Bokeh.require("models/plots/plot").PlotView.prototype.compute_layout = function () {
  window.styleSheets?.write()
  this.measure_layout()
  this.update_bbox()
  this._compute_layout()
  this.after_layout()
  this._layout_computed = true
}
