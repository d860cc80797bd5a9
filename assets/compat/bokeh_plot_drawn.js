/*
package = "bokeh"
upstream = "BokehJS offers no event for a plot that is drawn, and no place in it but its toolbar (no issue found)."
without = "Plots lack the buttons for help and for a window of their own."
knows = ["server/static/js/bokeh.js:DOMView.after_render", "server/static/js/bokeh.js:LayoutDOMView._after_render"]
digest = "e70979853a3dbc66"
*/
// A plot gets what the page adds to it each time it is drawn.
{
  const { PlotView } = Bokeh.require("models/plots/plot")
  const { after_render } = PlotView.prototype
  PlotView.prototype.after_render = function () {
    after_render.call(this)
    window.plotDrawn?.(this)
  }
}
