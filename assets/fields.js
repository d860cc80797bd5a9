// A field of a form, made from a plain description.
function field(data, send) {
  const help = tip(data.allowed ? "fields.field_with_range" : "fields.field", {help: data.help, range: data.allowed, name: data.name})
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

// A form of such fields, folded if it has a title.
function form({model}) {
  const root = element("div", {class: "fields"})
  const draw = () => redraw(root, model.fields.flatMap((data) => field(data, (name, value, more = {}) => model.send_msg({name, value, ...more}))))
  watch(model, ["fields"], draw)
  if (!model.title) { return root }
  return element("details", {}, element("summary", {}, model.title), root)
}
