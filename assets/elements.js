// Elements of the page's own components: attributes that are false or null are left out, true ones are empty.
function element(tag, attributes = {}, ...children) {
  const el = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null) { continue }
    el.setAttribute(name, value === true ? "" : value)
  }
  el.append(...children)
  return el
}

function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  svg.setAttribute("viewBox", "0 0 24 24")
  svg.setAttribute("aria-hidden", "true")
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path")
  shape.setAttribute("d", path)
  svg.append(shape)
  return svg
}
