// Zooms in on what the page that is followed has zoomed in on: see zoom_told.js.
{
  const known = new WeakSet(), before = window.plotDrawn
  window.plotDrawn = (view) => {
    before?.(view)
    for (const range of [view.model.x_range, view.model.y_range]) {
      if (known.has(range)) { continue }
      known.add(range)
      const follow = () => {
        const [start, end] = range.tags
        if (start !== undefined) {
          range.have_updated_interactively = true
          range.setv({start, end})
        } else if (range.have_updated_interactively) {
          range.reset()
          for (const linked of range.linked_plots) { linked.invalidate_dataranges = true }
        }
      }
      range.properties.tags.change.connect(follow)
      follow()
    }
  }
}
