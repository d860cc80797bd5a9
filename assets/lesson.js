// The page of a lesson: its menus, sliders and rows are set by the teacher. Who uses one is offered to explore the runs
// alone. What works in this browser alone is theirs: the question, the "?" of plots, folds, sorted and filtered lists.
{
  const CONTROLS = "button, input, select, textarea, [role=button], [role=slider], [role=combobox], [role=tab], [role=checkbox], label, .MuiSlider-root, .MuiInputBase-root, .MuiButtonBase-root"
  const OWN = "a, summary, .help, .close, .sort, input[type=search], section.poll, .card"
  const KEYS = [" ", "Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"]
  const SHOWN = 8000 // milliseconds
  let timer = null

  function offer() {
    clearTimeout(timer)
    document.getElementById("led")?.remove()
    const way = inside(document).find((el) => el.matches("a[href*='alone=']"))
    const style = "position:fixed;z-index:2000;bottom:96px;left:50%;transform:translateX(-50%);max-width:min(90vw,720px);box-sizing:border-box;" +
      "padding:8px 16px;border-radius:6px;background:#1F3A4D;color:#fff;font:14px/20px Roboto,sans-serif;box-shadow:0 2px 8px #0006"
    const bar = element("div", {id: "led", role: "status", style}, way ? "The teacher sets this for all who follow. " : "The lesson is over: nothing can be set here.")
    if (way) { bar.append(element("a", {href: way.getAttribute("href"), style: "color:inherit;font-weight:500"}, "Explore these runs")) }
    document.body.append(bar)
    timer = setTimeout(() => bar.remove(), SHOWN)
  }

  function act(event) {
    const path = event.composedPath().filter((el) => el instanceof Element)
    if (!path.some((el) => el.matches(".looked-at")) || path.some((el) => el.matches(OWN))) { return }
    if (!path.some((el) => el.matches(CONTROLS))) { return }
    if (event.type === "keydown" && (event.ctrlKey || event.metaKey || event.altKey || !(KEYS.includes(event.key) || event.key.length === 1))) { return }
    event.preventDefault()
    event.stopImmediatePropagation()
    if (event.type !== "click" && event.type !== "mousedown") { offer() }
  }
  for (const type of ["pointerdown", "mousedown", "click", "dblclick", "keydown"]) { addEventListener(type, act, true) }
}

// Zooms in on what the page that is followed has zoomed in on: see page.js.
eachPlot((model) => {
  for (const range of [model.x_range, model.y_range]) {
    const follow = () => {
      const [start, end] = range.tags
      if (start !== undefined) {
        range.have_updated_interactively = true
        range.setv({start, end})
      } else if (range.have_updated_interactively) {
        showAll(range)
      }
    }
    range.properties.tags.change.connect(follow)
    follow()
  }
})
