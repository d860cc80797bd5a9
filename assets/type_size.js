// Ordinary type, or larger one for a projector: all sizes of type are in rem, those of the plots too.
const VIEWS = {
  large: ["Larger type, for a projector", "M9 4v3h5v12h3V7h5V4H9zM3 12h3v7h3v-7h3V9H3v3z"],
  plots: ["The plots and the cursor alone, for a projector", "M3 4h18v2H3zM4 8h7v8H4zM13 8h7v8h-7zM3 18h18v2H3z"],
}

export function render({model}) {
  const page = document.documentElement
  const buttons = model.offered.map((view) => {
    const [title, path] = VIEWS[view]
    return button(icon(path), () => { model.view = model.view === view ? "normal" : view }, called(title))
  })
  const draw = () => {
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(model.view === model.offered[k])))
    if ((page.dataset.view ?? "normal") === model.view) { return }
    page.dataset.view = model.view
    for (const view of Bokeh.index.roots) { view.invalidate_layout?.() }
  }
  watch(model, ["view"], draw)
  return element("span", {}, ...buttons)
}
