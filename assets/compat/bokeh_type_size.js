/*
package = "bokeh"
upstream = """\
BokehJS reads the size of a text in em before it tells the text what an em is, and takes 13 pixels (no issue \
found)."""
without = "Axes stay as they are where the page has larger type."
knows = ["server/static/js/bokeh.js:Text.values"]
digest = "852fb82ba30de836"
*/
// An em of a text is the type of its plot.
{
  const { Text } = Bokeh.require("core/visuals/text")
  const { values } = Text.prototype
  Text.prototype.values = function () {
    const found = values.call(this), em = this.obj.plot_view?.base_font_size
    const [, size] = found.font_size?.match?.(/^([\d.]+)em$/) ?? []
    return em && size ? {...found, font_size: `${size * em}px`} : found
  }
}
