// The solvers, a line each with its fields, which can be unfolded. Needs fields.js.
export function render({model}) {
  const root = element("div", {class: "solvers"})
  const open = new Set()
  const send = (action, key, more = {}) => model.send_msg({action, key, ...more})

  function chip(data) {
    const look = {stroke: data.color, "stroke-width": 3, "stroke-dasharray": DASHES[data.dash]}
    const line = data.chosen ? [shape("line", {x1: 1, y1: 5, x2: 25, y2: 5, ...look})] : []
    return shape("svg", {width: 26, height: 10, "aria-hidden": "true"}, ...line)
  }

  const kept = (text, label, path, act, more = {}) => button(text, act, {...called(label), "data-path": path, ...more})

  function line(data) {
    const fits = !data.reason
    const change = () => {
      send("choose", data.key, {value: box.checked})
      if (data.refused) { box.checked = data.chosen }  // refused once more nothing changes, and nothing is drawn
    }
    const box = element("input", {type: "checkbox", disabled: !fits, checked: data.chosen, "aria-label": data.label,
      "data-path": `${data.label} chosen`, change})
    const name = element("label", {class: "pick", title: data.help}, box, chip(data), element("span", {class: "name"}, data.label))
    const row = element("div", {class: `line ${fits ? "" : "unfit"}`}, name)
    const parts = [row]
    if (fits) {
      const shown = open.has(data.label)
      row.append(kept(data.changed ? "settings •" : "settings", tip("solver_panel.settings", data), `${data.label} settings`, () => {
        if (shown) { open.delete(data.label) } else { open.add(data.label) }
        draw()
      }, {"aria-expanded": String(shown)}))
      if (shown) {
        parts.push(element("div", {class: "fields inset"},
          ...data.fields.flatMap((f) => field(f, (name, value) => send("set", data.key, {name, value}))),
          element("div", {class: "more"},
            kept("race a copy", tip("solver_panel.copy", data), `${data.label} copy`, () => send("copy", data.key)),
            ...data.presets.map((name) => kept(`as in the ${name}`, tip("solver_panel.preset", {label: data.label, preset: name}), `${data.label} preset ${name}`, () => send("preset", data.key, {value: name}))),
            data.changed ? kept("defaults", tip("solver_panel.defaults", data), `${data.label} defaults`, () => send("reset", data.key)) : "",
            data.copy ? kept("remove", tip("solver_panel.remove", data), `${data.label} remove`, () => send("remove", data.key)) : "")))
      }
    } else {
      parts.push(element("p", {class: "reason"}, data.reason))
    }
    if (data.refused) { parts.push(element("p", {class: "error", role: "alert"}, data.refused)) }
    return parts
  }

  const fitting = element("div"), others = element("div"), count = element("summary")
  const folded = element("details", {}, count, others)
  root.append(fitting, folded)

  function draw() {
    const unfit = model.entries.filter((entry) => entry.reason)
    redraw(fitting, model.entries.filter((entry) => !entry.reason).flatMap(line))
    redraw(others, unfit.flatMap(line))
    count.textContent = unfit.length === 1 ? "1 solver does not fit: why" : `${unfit.length} solvers do not fit: why`
    folded.hidden = !unfit.length
  }
  watch(model, ["entries"], draw)
  return root
}
