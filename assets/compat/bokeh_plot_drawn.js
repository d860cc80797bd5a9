// A plot gets what the page adds to it each time it is drawn.
{
  const { PlotView } = Bokeh.require("models/plots/plot")
  const { after_render } = PlotView.prototype
  PlotView.prototype.after_render = function () {
    after_render.call(this)
    window.plotDrawn?.(this)
  }
}
