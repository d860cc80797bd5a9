// One row a run: chip (click hides, double click isolates), live numbers, buttons.
const ICONS = {
  pause: "M6 19h4V5H6v14zm8-14v14h4V5h-4z",
  resume: "M8 5v14l11-7z",
  step: "M6 18l8.5-6L6 6v12zM16 6v12h2V6h-2z",
  stop: "M6 6h12v12H6z",
  pin: "M16 9V4h1c.55 0 1-.45 1-1s-.45-1-1-1H7c-.55 0-1 .45-1 1s.45 1 1 1h1v5c0 1.66-1.34 3-3 3v2h5.97v7l1 1 1-1v-7H19v-2c-1.66 0-3-1.34-3-3z",
  remove: "M19 6.41 17.59 5 12 10.59 6.41 5 5 6.41 10.59 12 5 17.59 6.41 19 12 13.41 17.59 19 19 17.59 13.41 12z",
}
ICONS.unpin = ICONS.pin
const ALIVE = ["queued", "loading", "compiling", "ready", "replaying", "running", "paused"]
// What a number that is not known is written as.
const NONE = "\u2013"
const TOLD = ["failed", "paused", "replaying", "ready"]

function set(el, text) { if (el.textContent !== text) { el.textContent = text } }

function makeRow(send, key, columns) {
  let timer = null
  const chip = button("", () => {
    if (timer !== null) { clearTimeout(timer); timer = null; send({action: "isolate", key}); return }
    timer = setTimeout(() => { timer = null; send({action: "hide", key}) }, 220)
  }, {class: "chip"})
  chip.innerHTML = '<svg width="28" height="10" aria-hidden="true"><line x1="1" y1="5" x2="27" y2="5" stroke-width="3"/></svg>'
  const name = element("span"), note = element("small")
  const label = button(name, () => send({action: "choose", key}), {class: "label"})
  label.append(note)
  const state = element("span", {class: "state"})
  const numbers = {}
  for (const [name] of columns) { numbers[name] = element("span", {class: `num ${name}`}) }
  const bound = element("span", {class: "bound"})
  const buttons = {}
  for (const action of ["pause", "step", "pin", "stop"]) {
    buttons[action] = button(icon(ICONS[action]), () => send({action: buttons[action].dataset.action, key}), {"data-action": action})
  }
  const message = element("span", {class: "message"})
  const row = element("div", {class: "row run", role: "group"},
    chip, label, state, ...Object.values(numbers), bound, element("span", {class: "acts"}, ...Object.values(buttons)), message)
  return {row, chip, label, name, note, state, numbers, bound, buttons, message}
}

function act(button, action, text, disabled) {
  if (button.dataset.action !== action) { button.dataset.action = action; button.replaceChildren(icon(ICONS[action])) }
  button.title = text
  button.setAttribute("aria-label", text)
  button.disabled = disabled
}

function fill(parts, data, columns) {
  const {row, chip, label, name, note, state, numbers, bound, buttons, message} = parts
  row.className = `row run ${data.hidden ? "hidden" : ""} ${data.chosen ? "chosen" : ""} ${data.ghost ? "ghost" : ""}`
  row.dataset.label = data.label
  row.dataset.state = data.state
  row.style.setProperty("--chip", data.color)
  const line = chip.querySelector("line")
  line.setAttribute("stroke", data.color)
  line.setAttribute("stroke-dasharray", DASHES[data.dash])
  chip.title = tip(data.hidden ? "legend.show" : "legend.hide", data)
  chip.setAttribute("aria-label", `${data.hidden ? "Show" : "Hide"} ${data.label}`)
  chip.setAttribute("aria-pressed", String(!data.hidden))
  set(name, data.label)
  set(note, data.note)
  label.title = tip("legend.label", data) + (data.note && `: ${data.note}`)
  set(state, data.word)
  state.title = data.message
  state.className = `state ${data.state}`
  for (const [name, el] of Object.entries(numbers)) { set(el, data[name]) }
  const told = columns.filter(([name]) => data[name] !== NONE).map(([name, heading]) => `${heading} ${data[name]}`)
  row.setAttribute("aria-label", [data.label, data.word, ...told, data.bound].filter(Boolean).join(", "))
  set(bound, data.bound)
  bound.title = data.proof
  const alive = ALIVE.includes(data.state), paused = data.state === "paused"
  act(buttons.pause, paused ? "resume" : "pause", tip(paused ? "legend.resume" : "legend.pause", data), !alive)
  act(buttons.step, "step", tip("legend.step", data), !alive)
  act(buttons.pin, data.pinned ? "unpin" : "pin", tip(data.pinned ? "legend.unpin" : "legend.pin", data), alive || data.past)
  buttons.pin.setAttribute("aria-pressed", String(data.pinned))
  act(buttons.stop, alive ? "stop" : "remove", tip(data.silent ? "legend.abandon" : alive ? "legend.stop" : "legend.remove", data), false)
  set(message, data.silent || TOLD.includes(data.state) ? data.message : "")
  message.className = `message ${data.silent ? "failed" : data.state}`
  row.title = data.message
}

export function render({model}) {
  const root = element("div", {class: model.steers ? "legend" : "legend looks"})
  const head = element("div", {class: "row head", "aria-hidden": "true"},
    element("span"), element("span"), element("span"),
    ...model.columns.map(([name, text, help]) => element("span", {class: `num ${name}`, title: help}, text)))
  const empty = element("div", {class: "empty"}, model.steers ?
    "No runs yet: press Run to start the chosen solvers together." : "No runs yet: they stand here once they are started.")
  const notice = element("div", {class: "notice", role: "status"})
  const rows = new Map()
  const send = (message) => model.send_msg(message)
  function draw() {
    const seen = new Set()
    for (const data of model.rows) {
      seen.add(data.key)
      if (!rows.has(data.key)) { rows.set(data.key, makeRow(send, data.key, model.columns)) }
      const parts = rows.get(data.key)
      fill(parts, data, model.columns)
    }
    for (const [key, parts] of rows) { if (!seen.has(key)) { parts.row.remove(); rows.delete(key) } }
    set(notice, model.notice)
    const wanted = model.rows.length ? [head, ...model.rows.map((data) => rows.get(data.key).row)] : [empty]
    // in place of the invitation to press Run, and above rows that are there
    if (model.notice) { wanted.splice(0, model.rows.length ? 0 : 1, notice) }
    if (wanted.length !== root.children.length || wanted.some((el, k) => root.children[k] !== el)) {
      root.replaceChildren(...wanted)
    }
  }
  watch(model, ["rows", "notice"], draw)
  return root
}
