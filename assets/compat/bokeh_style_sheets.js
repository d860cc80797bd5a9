/*
package = "bokeh"
upstream = """\
BokehJS empties and fills its style sheets again at every layout and painting; each time the browser looks for the \
styles of all that they may concern (https://github.com/bokeh/bokeh/issues/15202)."""
without = "A painting of all plots takes a third longer, and a layout of theirs two and a half times as long."
knows = [
    "server/static/js/bokeh.js:InlineStyleSheet.css",
    "server/static/js/bokeh.js:InlineStyleSheet._update",
    "server/static/js/bokeh.js:PlotView._actual_paint",
]
digests = ["fdae367d4b971cf8"]
*/
// Style sheets are written once, when all that is in them is known, and only where they differ: one that is written
// makes the browser look for the styles of all that it may concern.
{
  const { PlotView } = Bokeh.require("models/plots/plot")
  const { InlineStyleSheet } = Bokeh.require("core/dom")
  let held = null // the texts of sheets that are still to be written
  Object.defineProperty(InlineStyleSheet.prototype, "css", {
    get() { return held?.get(this) ?? this.el.textContent },
  })
  InlineStyleSheet.prototype._update = function (css) {
    if (held !== null) {
      held.set(this, css)
    } else if (css !== this.el.textContent) {
      this.el.textContent = css
    }
  }
  const write = () => {
    const texts = held ?? []
    held = null
    for (const [sheet, css] of texts) { sheet._update(css) }
  }
  const together = (change) => {
    held ??= new Map()
    try { change() } finally { write() }
  }
  const { _actual_paint } = PlotView.prototype
  PlotView.prototype._actual_paint = function () { together(() => _actual_paint.call(this)) }
  // for the other changes to the layout
  window.styleSheets = { together, write }
}
