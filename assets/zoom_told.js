// What part of a plot its visitor has zoomed in on, which the browser alone knows: told to the server by the tags of the
// ranges, so that those who follow see that part too.
{
  const known = new WeakSet(), before = window.plotDrawn
  window.plotDrawn = (view) => { // it is called again when laid out anew
    before?.(view)
    for (const range of [view.model.x_range, view.model.y_range]) {
      if (known.has(range)) { continue }
      known.add(range)
      range.change.connect(() => {
        const zoomed = range.have_updated_interactively ? [range.start, range.end] : []
        if (zoomed.length !== range.tags.length || zoomed.some((end, k) => end !== range.tags[k])) { range.tags = zoomed }
      })
    }
  }
}
