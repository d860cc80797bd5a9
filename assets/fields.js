// Fields of a form, made from plain descriptions; shared by form.js and solver_panel.js.
function element(tag, attributes = {}, ...children) {
  const el = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null) { continue }
    el.setAttribute(name, value === true ? "" : value)
  }
  el.append(...children)
  return el
}

function field(data, send) {
  const help = `${data.help}${data.allowed ? ` (${data.allowed})` : ""}`
  let input
  if (data.kind === "choice") {
    input = element("select", {}, ...data.choices.map((c) => element("option", {value: c, selected: c === data.value}, c)))
  } else if (data.kind === "switch") {
    input = element("input", {type: "checkbox"})
    input.checked = data.value
  } else {
    input = element("input", {type: "text", autocomplete: "off", spellcheck: "false"})
    input.value = data.value
  }
  input.setAttribute("aria-label", data.name)
  if (data.error) { input.setAttribute("aria-invalid", "true") }
  input.addEventListener("change", () => send(data.name, data.kind === "switch" ? input.checked : input.value.trim()))
  const label = element("label", {class: `field ${data.changed ? "changed" : ""}`, title: help},
    element("span", {class: "name"}, data.name), input)
  return data.error ? [label, element("p", {class: "error", role: "alert"}, data.error)] : [label]
}

// Redraw without taking the focus or the open panels away from the user.
function redraw(root, children) {
  const focused = root.getRootNode().activeElement
  const path = focused && root.contains(focused) ? focused.dataset.path ?? focused.getAttribute("aria-label") : null
  root.replaceChildren(...children)
  if (path) {
    const again = [...root.querySelectorAll("input, select, button")].find((el) => (el.dataset.path ?? el.getAttribute("aria-label")) === path)
    again?.focus()
  }
}
