// An axis that has come to show something else shows all of it, and not the part that was zoomed in on.
if (scaled !== null) { range.scale_hint = scaled.y_scale.type === "LogScale" ? "log" : "auto" }
range.reset()
for (const plot of range.linked_plots) { plot.invalidate_dataranges = true }
