// The runs that are kept, a line each: sorted, filtered, chosen, named, pinned, shown beside the others, deleted.
const ICONS = {
  pin: "M16 9V4h1V2H7v2h1v5a3 3 0 0 1-2 2.8V14h5v7l1 1 1-1v-7h5v-2.2A3 3 0 0 1 16 9z",
  rename: "M3 17.3V21h3.8L17.8 9.9l-3.7-3.7L3 17.3zM20.7 7a1 1 0 0 0 0-1.4l-2.3-2.3a1 1 0 0 0-1.4 0l-1.9 1.8 3.8 3.8L20.7 7z",
  delete: "M6 19a2 2 0 0 0 2 2h8a2 2 0 0 0 2-2V7H6v12zM19 4h-3.5l-1-1h-5l-1 1H5v2h14V4z",
}
const HEADS = [["when", "When"], ["title", "Run"], ["data", "Data"], ["lam", "λ"], ["solver", "Solver"],
  ["iterations", "Iterations"], ["objective", "Objective"], ["state", "State"], ["options", "Options"]]
const NUMBERS = ["lam", "iterations", "objective"]

function when(seconds) {
  const then = new Date(1000 * seconds), now = new Date()
  const days = Math.round((new Date(now.toDateString()) - new Date(then.toDateString())) / 864e5)
  const time = then.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit"})
  if (days === 0) { return `today ${time}` }
  if (days === 1) { return `yesterday ${time}` }
  const year = then.getFullYear() === now.getFullYear() ? {} : {year: "numeric"}
  return `${then.toLocaleDateString([], {day: "numeric", month: "short", ...year})} ${time}`
}

export function render({model}) {
  const send = (message) => model.send_msg(message)
  let naming = null

  // after it the box of its line has the focus, which Enter does not press
  function field(run) {
    const input = element("input", {type: "text", maxlength: "80", "aria-label": `Name of ${run.title}`, value: run.name,
      "data-path": `${run.id} box`, keydown, blur: () => done(true)})
    const done = (keep) => {
      if (naming !== run.id) { return }
      naming = null
      if (keep && input.value.trim() !== run.name) { send({action: "rename", ids: [run.id], name: input.value}) }
      draw()
    }
    function keydown(event) {
      event.stopPropagation()
      if (event.key === "Enter") { done(true) } else if (event.key === "Escape") { done(false) }
    }
    return input
  }

  function line(run) {
    const cells = {}
    for (const [name] of HEADS) {
      const text = name === "when" ? (run.kept ? when(run.started) : "") : run[name]
      cells[name] = element("td", {class: NUMBERS.includes(name) ? `${name} num` : name, title: text}, text)
    }
    cells.state.title = run.message
    if (!run.kept) { return element("tr", {}, element("td"), ...Object.values(cells), element("td")) }
    cells.when.title = new Date(1000 * run.started).toLocaleString()
    if (naming === run.id) { cells.title.replaceChildren(field(run)) }
    const ids = [run.id], part = (name) => ({"data-path": `${run.id} ${name}`})
    const iconed = (action, text, act) => button(icon(ICONS[action]), act, {...called(text), ...part(action), "data-action": action})
    const box = element("input", {type: "checkbox", "aria-label": `Select ${run.title}`, checked: model.chosen.includes(run.id),
      ...part("box"), change: () => send({action: "choose", ids, value: box.checked})})
    const show = button(run.shown ? "Remove" : "Show", () => send({action: run.shown ? "put-away" : "show", ids}),
      {class: "show", ...part("show"), "aria-pressed": String(run.shown), "aria-label": run.shown ? `Remove ${run.title} from the plots` : `Show ${run.title}`})
    const pin = iconed("pin", tip(run.pinned ? "runs.unpin" : "runs.pin", run),
      () => send({action: "pin", ids, value: !run.pinned}))
    pin.setAttribute("aria-pressed", String(run.pinned))
    const rename = iconed("rename", tip("runs.rename", run), () => { naming = run.id; draw() })
    const remove = iconed("delete", tip("runs.delete", run), () => send({action: "delete", ids}))
    const acts = element("td", {class: "acts"}, show, pin, rename, remove)
    if (run.setting) {
      acts.prepend(element("a", {href: `?${run.setting}`, ...part("settings"), title: tip("runs.settings", run)}, "Load settings"))
    }
    return element("tr", {"data-id": run.id, class: run.alive ? "alive" : ""},
      element("td", {class: "box"}, box), ...Object.values(cells), acts)
  }

  const root = element("div", {class: "runs"})
  const notice = element("span", {role: "status"}), count = element("span")
  const undo = button("Undo", () => send({action: "undo"}), {class: "wide"})
  const order = sorting(draw), filter = filtering("Filter: run, data, state …", draw)
  const textOf = (run) => [...HEADS.slice(1).map(([name]) => run[name]), run.message].join(" ")
  const listed = () => filter.filtered(model.entries, textOf)
  // what the filter hides is neither shown nor deleted
  const chosen = () => listed().map((run) => run.id).filter((id) => model.chosen.includes(id))
  const showAll = button("Show selected", () => send({action: "show", ids: chosen()}), {class: "wide"})
  const deleteAll = button("Delete selected", () => send({action: "delete", ids: chosen()}), {class: "wide"})
  const bar = element("div", {class: "bar"}, filter.field, showAll, deleteAll, count, notice, undo)
  const head = element("tr", {}, element("td"), ...HEADS.map(([name, text]) =>
    order.head(name, text, NUMBERS.includes(name) ? `${name} num` : name)), element("td"))
  const body = element("tbody")
  const frame = element("div", {class: "frame"}, element("table", {}, element("thead", {}, head), body))
  root.append(bar, frame)

  function draw() {
    const lines = listed(), all = model.entries.length
    redraw(body, order.sorted(lines, (run, name) => name === "when" ? run.started : run[name]).map(line))
    count.textContent = lines.length < all ? `${lines.length} of ${all} runs` : ""
    for (const one of [showAll, deleteAll]) { one.disabled = chosen().length === 0 }
    if (notice.textContent !== model.notice) { notice.textContent = model.notice }
    undo.hidden = !model.undo
    showAll.hidden = deleteAll.hidden = !model.entries.some((run) => run.kept)
    if (naming !== null) { body.querySelector("input[type=text]")?.focus() }
  }
  // a name that is being written would be lost
  watch(model, ["entries", "chosen", "notice", "undo"], () => { if (naming === null) { draw() } })
  return root
}
