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
