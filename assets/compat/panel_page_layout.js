/*
package = "panel"
upstream = """\
Panel's components of React lay out at once, one after the other, and each time the whole page, as BokehJS does \
(https://github.com/bokeh/bokeh/issues/9515)."""
without = """\
Five changes in a frame take from four to ten times as long to lay out; and the page is laid out some 17 times in \
place of 4 before Run can be pressed."""
knows = [
    "dist/lib/models/reactive_esm.js:ReactiveESMView.compute_layout",
    "dist/lib/models/reactive_esm.js:ReactiveESMView.invalidate_layout",
]
digests = ["323d7a415a86b850", "3b76f48e5170c882"]
*/
// The whole page is one component of Panel, which all others in it ask for a layout: it is laid out once a frame, and
// while frame after frame asks for it, less often.
{
  const { prototype: root } = Object.getPrototypeOf(
    Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view,
  )
  const { compute_layout, invalidate_layout } = root
  const BUILDING = 500, BUILT = 100 // milliseconds for which it waits at most
  const asked = new Map() // whether the styles have changed too, by the view that is to be laid out
  let since = 0, more = false // when it was asked for first, and whether it was again since the last frame
  const lay_out = () => {
    const built = Bokeh.documents.every((document) => document.is_idle)
    if (more && performance.now() - since < (built ? BUILT : BUILDING)) {
      more = false
      requestAnimationFrame(lay_out)
      return
    }
    const views = [...asked]
    asked.clear()
    const together = window.styleSheets?.together ?? ((change) => change())
    for (const [view, restyled] of views) {
      if (restyled) { together(() => view.update_layout()) }
      compute_layout.call(view)
      view.notify_finished() // nothing else looks again whether a layout was all that it waited for
    }
  }
  const ask = (view, restyled) => {
    if (asked.size === 0) {
      since = performance.now()
      more = false
      requestAnimationFrame(lay_out)
    } else {
      more = true
    }
    asked.set(view, restyled || asked.get(view))
  }
  root.compute_layout = function () {
    if (this.is_managed) { compute_layout.call(this) } else { ask(this, false) }
  }
  root.invalidate_layout = function () {
    if (this.is_managed) { invalidate_layout.call(this) } else { ask(this, true) }
  }
}
