// Elements of the page and its components: attributes that are false or null are left out, true ones are empty, and
// functions are called at the events that they are named after.
function element(tag, attributes = {}, ...children) {
  const el = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") { el.addEventListener(name, value) }
    else if (value !== false && value !== null) { el.setAttribute(name, value === true ? "" : value) }
  }
  el.append(...children)
  return el
}

function button(shown, click, attributes = {}) {
  return element("button", {type: "button", click, ...attributes}, shown)
}

// The tooltip with this id, from app/help/tooltips.toml, with values in place of the names in braces.
const tip = (id, values = {}) => TIPS[id].replace(/{(\w+)}/g, (_, name) => values[name])

// The name of a button that shows no words.
const called = (text) => ({title: text, "aria-label": text})

// A part of a drawing.
function shape(tag, attributes, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) { el.setAttribute(name, value) }
  el.append(...children)
  return el
}

// Dashes of runs, of a line that is as long as a word.
const DASHES = {solid: "", dashed: "7 4", dotdash: "2 3 7 3", dotted: "2 3"}

const icon = (path) => shape("svg", {viewBox: "0 0 24 24", "aria-hidden": "true"}, shape("path", {d: path}))

// Draws now, and whenever one of these properties changes.
function watch(model, names, draw) {
  for (const name of names) { model.on(name, draw) }
  draw()
}

// Other children, without taking the focus away from the user: it goes to what has the same path, or else the same name.
function redraw(root, children) {
  const pathOf = (el) => el.dataset.path ?? el.getAttribute("aria-label")
  const focused = root.getRootNode().activeElement
  const path = focused && root.contains(focused) ? pathOf(focused) : null
  root.replaceChildren(...children)
  if (path) { [...root.querySelectorAll("input, select, button, a")].find((el) => pathOf(el) === path)?.focus() }
}
