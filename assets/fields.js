// Fields of a form, made from plain descriptions; shared by form.js and solver_panel.js.
function field(data, send) {
  const help = `${data.help}${data.allowed ? ` (${data.allowed})` : ""}. In scripts and addresses: ${data.name}`
  let input
  if (data.kind === "choice") {
    input = element("select", {}, ...data.choices.map((c) => element("option", {value: c, selected: c === data.value}, c)))
  } else if (data.kind === "switch") {
    input = element("input", {type: "checkbox", checked: data.value})
  } else {
    input = element("input", {type: "text", value: data.value, autocomplete: "off", spellcheck: "false"})
  }
  input.setAttribute("aria-label", data.title)
  const offered = []
  if (data.suggestions) {
    const id = `suggestions-${data.name}`
    input.setAttribute("list", id)
    offered.push(element("datalist", {id}, ...data.suggestions.map(([value, text]) => element("option", {value}, text))))
  }
  if (data.error) { input.setAttribute("aria-invalid", "true") }
  input.addEventListener("change", () => send(data.name, data.kind === "switch" ? input.checked : input.value.trim()))
  const label = element("label", {class: `field ${data.changed ? "changed" : ""} ${data.wide ? "wide" : ""}`, title: help},
    element("span", {class: "name"}, data.title), input, ...offered)
  if (data.error) { return [label, element("p", {class: "error", role: "alert"}, data.error)] }
  if (!data.note) { return [label] }
  const offer = button(data.offer, () => send(data.name, data.offer, {offered: true}))
  return [label, element("p", {class: "note", role: "status"}, data.note, " ", offer)]
}
