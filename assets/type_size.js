// Ordinary type, or larger one for a projector: all sizes of type are in rem, those of the plots too.
export function render({model}) {
  const root = document.documentElement
  const button = document.createElement("button")
  button.type = "button"
  button.innerHTML = '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M9 4v3h5v12h3V7h5V4H9zM3 12h3v7h3v-7h3V9H3v3z"/></svg>'
  button.title = "Larger type, for a projector"
  button.setAttribute("aria-label", button.title)
  const draw = () => {
    const view = model.large ? "large" : "normal"
    button.setAttribute("aria-pressed", String(model.large))
    if ((root.dataset.view ?? "normal") === view) { return }
    root.dataset.view = view
    for (const view of Bokeh.index.roots) { view.invalidate_layout?.() }
  }
  button.addEventListener("click", () => { model.large = !model.large })
  model.on("large", draw)
  draw()
  return button
}
