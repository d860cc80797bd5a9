// What part of a plot its visitor has zoomed in on, which the browser alone knows: told to the server by the tags of the
// ranges, so that those who follow see that part too.
eachPlot(({model}) => {
  for (const range of [model.x_range, model.y_range]) {
    range.change.connect(() => {
      const zoomed = range.have_updated_interactively ? [range.start, range.end] : []
      if (zoomed.length !== range.tags.length || zoomed.some((end, k) => end !== range.tags[k])) { range.tags = zoomed }
    })
  }
})
