// Zooms in on what the page that is followed has zoomed in on: see zoom_told.js.
eachPlot(({model}) => {
  for (const range of [model.x_range, model.y_range]) {
    const follow = () => {
      const [start, end] = range.tags
      if (start !== undefined) {
        range.have_updated_interactively = true
        range.setv({start, end})
      } else if (range.have_updated_interactively) {
        showAll(range)
      }
    }
    range.properties.tags.change.connect(follow)
    follow()
  }
})
