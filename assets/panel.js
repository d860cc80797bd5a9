// A button of the header with a panel below it, which Escape and a click elsewhere close.
function panel(path, label, title, opened, ...children) {
  const below = element("div", {class: "panel", role: "dialog", "aria-label": label, hidden: true}, ...children)
  const opener = button(icon(path), () => open(below.hidden), {class: "opener", "aria-expanded": "false", "aria-label": label, title})
  const open = (wanted) => {
    below.hidden = !wanted
    opener.setAttribute("aria-expanded", String(wanted))
    if (wanted) { opened() }
  }
  const keydown = (event) => {
    event.stopPropagation() // the page's keys move its cursor
    if (event.key === "Escape") { open(false); opener.focus() }
  }
  const root = element("div", {class: "take-along", keydown}, opener, below)
  document.addEventListener("pointerdown", (event) => {
    if (!below.hidden && !event.composedPath().includes(root)) { open(false) }
  })
  return {root, opener}
}
