/*
package = "bokeh"
upstream = """\
BokehJS empties and fills its style sheets again at every layout and painting; each time the browser looks for the \
styles of all that they may concern (https://github.com/bokeh/bokeh/issues/15202)."""
report = '''
# BokehJS rewrites style sheets that have not changed, at each layout and each painting

## What is wrong

`update_style()` clears the `style` sheet of an element and `_update_layout()` appends to it; `_css_vars`,
`_computed_style` and `parent_style` are replaced at each painting or layout, mostly by the text that they have.
`InlineStyleSheet._update` assigns `textContent` even if the text stays the same. Each assignment makes the browser
parse the sheet and recalculate the styles of all elements in its shadow root, and a layout that is read in between is
forced. #15202 is about the same.

## Smallest example

```python
from bokeh.io import show
from bokeh.layouts import column
from bokeh.models import Button, CustomJS
from bokeh.plotting import figure

plots = [figure(height=150) for k in range(7)]
for plot in plots:
    plot.line([0, 1], [0, 1])
button = Button(label="Count")
page = column(button, *plots)
code = """
let count = 0
const seen = new MutationObserver((changes) => { count += changes.length })
const view = Bokeh.index.find_one_by_id(plot.id)
seen.observe(view.shadow_el, {childList: true, characterData: true, subtree: true})
Bokeh.index.find_one_by_id(page.id).invalidate_layout()
setTimeout(() => console.log(count, "style nodes written, though nothing has changed"), 500)
"""
button.js_on_click(CustomJS(args={"page": page, "plot": plots[0]}, code=code))
show(page)
```

Five are written for each plot. A remedy: `_update` returns if the text is the same, and `clear()` followed by `append()` is one write.

## Versions

bokeh 3.9.2 (Python 3.11) and bokeh 3.10.2 (Python 3.13), Chromium, Linux.
'''
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
