/*
package = "bokeh"
upstream = """\
A layout of BokehJS watches the sizes of its children as well, and takes note of a new one before the child does, which \
then sees no change and is not laid out (no issue found)."""
without = "A plot that becomes lower, as where the legend below it needs another line, is drawn across what is below it."
knows = [
    "server/static/js/bokeh.js:UIElementView.after_resize",
    "server/static/js/bokeh.js:LayoutDOMView.update_bbox",
    "server/static/js/bokeh.js:LayoutDOMView.build_child_views",
]
digest = "4f2f57f047dad761"
*/
// A plot compares its size with that of its layout, not with the size that was noted last.
{
  const { PlotView } = Bokeh.require("models/plots/plot")
  const { after_resize } = PlotView.prototype
  PlotView.prototype.after_resize = function () {
    after_resize.call(this)
    const { layout, bbox } = this // a plot that has not been drawn yet has no layout
    if (this.is_displayed && layout && (layout.bbox.width !== bbox.width || layout.bbox.height !== bbox.height)) {
      this.compute_layout()
    }
  }
}
