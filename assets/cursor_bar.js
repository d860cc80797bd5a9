// The cursor's slider with marks, and the page's keys: space runs or pauses, arrows, Home and End move the cursor.
const PATHS = {back: "M15.41 7.41 14 6l-6 6 6 6 1.41-1.41L10.83 12z", ahead: "M8.59 16.59 10 18l6-6-6-6-1.41 1.41L13.17 12z"}

export function render({model}) {
  const send = (message) => model.send_msg(message)
  const slider = element("input", {type: "range", min: "0", step: "1", "aria-label": "Iteration under the cursor"})
  const marks = element("div", {class: "marks", "aria-hidden": "true"})
  const who = element("span", {class: "who"}), what = element("span", {class: "what"})
  const follow = button("follow", () => send({action: "follow"}),
    {title: tip("cursor_bar.follow")})
  const goOn = button("Go on from here", () => send({action: "branch", name: choice.value}), {class: "go"})
  const choice = element("select", {"aria-label": "Solver to continue with"})
  const branch = element("span", {class: "branch"}, goOn, choice)
  const root = element("div", {class: "bar", role: "group", "aria-label": "Cursor"},
    element("div", {class: "text", "aria-live": "off"}, who, what, branch),
    element("span", {class: "steps"},
      button(icon(PATHS.back), () => send(MESSAGES.ArrowLeft), called(tip("cursor_bar.back"))),
      button(icon(PATHS.ahead), () => send(MESSAGES.ArrowRight), called(tip("cursor_bar.ahead")))),
    element("div", {class: "track"}, marks, slider), follow)

  // how far the track is filled: browsers differ in how they paint the rest of it
  function fillTrack() { slider.style.setProperty("--at", String(Number(slider.value) / Number(slider.max))) }
  let sent = 0
  slider.addEventListener("input", () => {
    fillTrack()
    const now = performance.now()
    if (now - sent > 60) { sent = now; send({action: "move", iteration: Number(slider.value)}) }
  })
  slider.addEventListener("change", () => send({action: "move", iteration: Number(slider.value)}))
  // while the thumb is held it is where the pointer is: answers to earlier moves would pull it back
  let held = false
  slider.addEventListener("pointerdown", () => { held = true })
  const release = () => { held = false }
  for (const end of ["pointerup", "pointercancel"]) { slider.addEventListener(end, release) }

  function place() {
    const head = Math.max(model.state.head ?? 0, 1)
    marks.replaceChildren(...model.marks.map(([iteration, kind, text]) => {
      const el = element("span", {class: `mark ${kind}`, title: text})
      el.style.left = `${100 * Math.min(iteration / head, 1)}%`
      return el
    }))
  }
  // a choice stays for as long as it is offered
  function drawOffer() {
    const {choices, note} = model.offer
    branch.hidden = !choices
    goOn.title = note ?? ""
    const names = choices ?? []
    if (names.length !== choice.options.length || names.some((name, k) => choice.options[k].value !== name)) {
      const kept = choice.value
      choice.replaceChildren(...names.map((name) => element("option", {value: name}, name)))
      choice.value = names.includes(kept) ? kept : names[0] ?? ""
    }
  }
  let head = -1
  function draw() {
    const state = model.state
    root.style.setProperty("--run", state.color ?? "currentColor")
    slider.disabled = model.led || !state.label
    slider.max = String(Math.max(state.head ?? 0, 1))
    if (!held) { slider.value = String(state.iteration ?? 0) }
    fillTrack()
    slider.setAttribute("aria-valuetext", state.text ?? "no run")
    who.replaceChildren(...(state.label ? [element("span", {class: "dot"}), state.label] : []))
    what.textContent = state.text ?? model.hint
    follow.setAttribute("aria-pressed", String(Boolean(state.follow)))
    if (state.head !== head) { head = state.head; place() }
  }

  // Keys are the page's wherever the focus is, unless what has it needs them: text, open menus and sliders do, and
  // tabs and closed menus that were reached by keys: a choice by the pointer leaves the focus there as well. The
  // cursor's slider does not: moved by itself it would be put back by the answers to its earlier moves. A
  // button keeps Enter alone, so that space never does two things.
  const WRITES = "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=gridcell], [role=combobox][aria-expanded=true], [role=option], [role=listbox], [role=menu], [role=menuitem]"
  const CLOSED = "div[role=combobox][aria-expanded=false]:not([aria-disabled=true])"
  const OPENS = [" ", "ArrowUp", "ArrowDown"]
  const MOVES = "input[type=range], [role=slider]"
  const TICKS = "input[type=checkbox], input[type=radio]"
  const MESSAGES = {
    " ": {action: "space"}, ArrowLeft: {action: "by", by: -1}, ArrowRight: {action: "by", by: 1},
    Home: {action: "by", by: Number.MIN_SAFE_INTEGER}, End: {action: "by", by: Number.MAX_SAFE_INTEGER},
  }
  let tabbing = false, opened = ""
  function taken(event) {
    const el = event.composedPath()[0]
    if (event.ctrlKey || event.metaKey || event.altKey || !(el instanceof Element)) { return true }
    const space = event.key === " "
    return el.matches(WRITES) || el.isContentEditable || (el !== slider && el.matches(space ? TICKS : MOVES)) ||
      (tabbing && el.matches(space ? CLOSED : `${CLOSED}, [role=tab]`))
  }
  // Panel's menus open by a click alone
  function opens(event) {
    const el = event.composedPath()[0]
    return el instanceof Element && el.matches(CLOSED) && !(event.ctrlKey || event.metaKey || event.altKey) &&
      (event.key === "Enter" || (tabbing && OPENS.includes(event.key)))
  }
  function keep(event) {
    event.preventDefault()
    event.stopPropagation()
  }
  function down(event) {
    if (event.key === "Tab") { tabbing = true }
    if (event.repeat && event.key === opened) { return keep(event) }
    opened = opens(event) ? event.key : ""
    if (opened) {
      keep(event)
      event.composedPath()[0].click()
      return
    }
    const message = MESSAGES[event.key]
    if (!message || taken(event)) { return }
    keep(event)
    if (!(event.key === " " && event.repeat)) { send(message) }
  }
  // some browsers press a button when space is let go, and a menu that space has opened its first choice
  function up(event) { if (event.key === " " && (opened === " " || !taken(event))) { keep(event) } }
  function pointed() { tabbing = false }
  const listeners = model.led ? {} : {keydown: down, keyup: up, pointerdown: pointed}
  root.querySelector(".steps").hidden = follow.hidden = model.led
  root.classList.toggle("led", model.led)
  for (const [name, listener] of Object.entries(listeners)) { document.addEventListener(name, listener, true) }
  model.on("remove", () => {
    for (const [name, listener] of Object.entries(listeners)) { document.removeEventListener(name, listener, true) }
  })
  watch(model, ["state"], draw)
  watch(model, ["marks"], place)
  watch(model, ["offer"], drawOffer)
  return root
}
