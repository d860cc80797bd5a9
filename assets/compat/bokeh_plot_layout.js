/*
package = "bokeh"
upstream = "BokehJS lays out the whole page for it (https://github.com/bokeh/bokeh/issues/12129)."
report = '''
# A plot whose tick labels become wider lays out the whole page, and is painted before that

## What is wrong

`PlotView._invalidate_layout_if_needed` calls `compute_layout()` when a panel beside the frame needs another size, as
where tick labels become wider. `LayoutDOMView.compute_layout` passes that to the root: all of the page is measured and
laid out, once for each plot, although the plot itself keeps its size. A root that puts a layout off (such as a
component of React in Panel) lays out after the plot has been painted, with labels and titles outside its canvas.
#12129 is about the same.

## Smallest example

```python
from bokeh.io import show
from bokeh.layouts import column
from bokeh.models import Button, CustomJS
from bokeh.plotting import figure

plots = [figure(height=150, sizing_mode="stretch_width") for k in range(5)]
lines = [plot.line([0, 1], [0, 1]) for plot in plots]
button = Button(label="Widen")
page = column(button, *plots)
code = """
const view = Bokeh.index.find_one_by_id(page.id), layout = view.after_layout
let count = 0
view.after_layout = function () { count += 1; layout.call(this) }
for (const {data_source} of lines) { data_source.data = {x: [0, 1], y: [0, 1e9]} }
setTimeout(() => console.log(count, "layouts of the page"), 1000)
"""
button.js_on_click(CustomJS(args={"page": page, "lines": lines}, code=code))
show(page)
```

The page is laid out five times; each plot could be laid out alone.

## Versions

bokeh 3.9.2 (Python 3.11) and bokeh 3.10.2 (Python 3.13), Chromium, Linux.
'''
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
