// Chooses the other of light and dark; what that changes is up to the head of the page.
const THEMES = {
  light: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM3.5 5 5 3.5 7.8 6.4 6.4 7.8zM16.2 17.6l1.4-1.4 2.9 2.8-1.5 1.5zM19 3.5 20.5 5l-2.9 2.8-1.4-1.4zM6.4 16.2l1.4 1.4L5 20.5 3.5 19z",
  dark: "M12 3a9 9 0 1 0 9 9c0-.46-.04-.92-.1-1.36a5.39 5.39 0 0 1-4.4 2.26 5.4 5.4 0 0 1-3.14-9.8C12.92 3.04 12.46 3 12 3z",
}

function themeToggle({model}) {
  const root = document.documentElement
  const other = () => dispatchEvent(new CustomEvent("choose-theme", {detail: root.dataset.theme === "dark" ? "light" : "dark"}))
  const toggle = button("", other, called(tip("header_buttons.theme")))
  const draw = () => toggle.replaceChildren(icon(THEMES[root.dataset.theme] ?? THEMES.light))
  const observer = new MutationObserver(draw)
  observer.observe(root, {attributes: true, attributeFilter: ["data-theme"]})
  model.on("remove", () => observer.disconnect())
  draw()
  return toggle
}

// Ordinary type, or larger one for a projector: all sizes of type are in rem, those of the plots too.
const VIEWS = {
  large: "M9 4v3h5v12h3V7h5V4H9zM3 12h3v7h3v-7h3V9H3v3z",
  plots: "M3 4h18v2H3zM4 8h7v8H4zM13 8h7v8h-7zM3 18h18v2H3z",
}

function typeSize({model}) {
  const page = document.documentElement
  const buttons = model.offered.map((view) => {
    return button(icon(VIEWS[view]), () => { model.view = model.view === view ? "normal" : view }, called(tip(`header_buttons.${view}`)))
  })
  const draw = () => {
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(model.view === model.offered[k])))
    if ((page.dataset.view ?? "normal") === model.view) { return }
    page.dataset.view = model.view
    for (const view of Bokeh.index.roots) { view.invalidate_layout?.() }
    dispatchEvent(new Event("type-size")) // plots follow, see plots.js
  }
  watch(model, ["view"], draw)
  return element("span", {}, ...buttons)
}
