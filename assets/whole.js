// Shows all of what a plot has, and not the part that was zoomed in on.
for (const range of [plot.x_range, plot.y_range]) {
  if (range.type !== "DataRange1d") { continue }
  range.reset()
  for (const linked of range.linked_plots) { linked.invalidate_dataranges = true }
}
