// An axis that has come to show something else shows all of it, and not the part that was zoomed in on.
const range = plot[`${dimension}_range`]
if (range.scale_hint !== undefined) { range.scale_hint = plot[`${dimension}_scale`].type === "LogScale" ? "log" : "auto" }
showAll(range)
