for (const range of [plot.x_range, plot.y_range]) {
  if (range.type === "DataRange1d") { showAll(range) }
}
