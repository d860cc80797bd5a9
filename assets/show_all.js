// Shows all that a range has, and not the part that was zoomed in on.
function showAll(range) {
  range.reset()
  for (const linked of range.linked_plots) { linked.invalidate_dataranges = true }
}
