/*
package = "bokeh"
upstream = """\
https://github.com/bokeh/bokeh/issues/6639: the range of an axis without data is undefined or guessed, with \
warnings in the console each time the plot is painted."""
without = "The browser's console has warnings of empty axes."
knows = ["server/static/js/bokeh.js:DataRange1d._compute_range"]
digest = "9860b9acb2ded7ff"
*/
// An axis without data has a range of its own, and no warning at each painting: it is empty until the first point.
{
  const { DataRange1d } = Bokeh.require("models/ranges/data_range1d")
  const { _compute_range } = DataRange1d.prototype
  DataRange1d.prototype._compute_range = function (min, max) {
    if (min <= max) { return _compute_range.call(this, min, max) }
    return _compute_range.call(this, ...(this.scale_hint === "log" ? [0.1, 10] : [0, 1]))
  }
}
