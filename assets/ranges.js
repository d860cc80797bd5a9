// Shows all that a range has, and not the part that was zoomed in on.
function showAll(range) {
  range.reset()
  for (const linked of range.linked_plots) { linked.invalidate_dataranges = true }
}

// Shows all of a plot, as far as its ranges are those of its data.
function showAllOf(plot) {
  for (const range of [plot.x_range, plot.y_range]) {
    if (range.type === "DataRange1d") { showAll(range) }
  }
}

// Shows all of an axis ("x" or "y") that has come to show something else.
function showAxis(plot, dimension) {
  const range = plot[`${dimension}_range`]
  if (range.scale_hint !== undefined) { range.scale_hint = plot[`${dimension}_scale`].type === "LogScale" ? "log" : "auto" }
  showAll(range)
}
