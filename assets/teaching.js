// The address that others follow this page at, for a teacher to read out, copy or show.
const SCHOOL = "M5 13.18v4L12 21l7-3.82v-4L12 17l-7-3.82zM12 3 1 9l11 6 9-4.91V17h2V9L12 3z", SAID = 1500
const HERE = ["localhost", "127.0.0.1", "[::1]"] // on another machine these mean that one

export function render({model}) {
  const send = (action) => model.send_msg({action})
  const opener = element("button", {type: "button", class: "opener", "aria-expanded": "false",
    title: "Teach this: others follow this page live at a short address"}, icon(SCHOOL))
  opener.setAttribute("aria-label", "Teach this")
  const panel = element("div", {class: "panel", role: "dialog", "aria-label": "Teach this", hidden: true})
  const root = element("div", {class: "take-along"}, opener, panel)
  const button = (text, act) => {
    const made = element("button", {type: "button"}, text)
    made.addEventListener("click", act)
    return made
  }
  const address = element("output", {class: "address", tabindex: "0"}), note = element("p"), counts = element("table"), count = element("p", {role: "status"})
  const what = element("p", {}, "Whoever opens this address sees your data, runs, cursor and tab live. They can change nothing here; " +
    "they may look around alone, or try your settings on a page of their own. The address ends with this page.")
  const copy_button = button("Copy", async () => {
    try { await copy(address.textContent); copy_button.textContent = "Copied" } catch { getSelection().selectAllChildren(address) }
    setTimeout(() => { copy_button.textContent = "Copy" }, SAID)
  })
  const acts = element("div", {class: "acts"}, button("Start", () => send("teach")), copy_button, button("End", () => send("end")))
  const [start, , end] = acts.children
  panel.append(element("h2", {}, "Teach this"), what, address, count, counts, acts, note)
  const number = (n) => n === 1 ? "1 follower" : `${n} followers`
  const whole = () => {
    const url = new URL(`${location.pathname}${model.address}`, location.origin)
    if (model.host !== "" && HERE.includes(url.hostname)) { url.hostname = model.host }
    return url.href
  }
  const draw = () => {
    const on = model.code !== ""
    address.textContent = on ? whole() : ""
    count.textContent = on ? number(model.followers) : ""
    for (const part of [address, count, copy_button, end]) { part.hidden = !on }
    start.hidden = on
    counts.hidden = !on || model.counts.length === 0
    counts.replaceChildren(element("caption", {}, "Their answers"), ...model.counts.map(([text, n]) =>
      element("tr", {}, element("th", {scope: "row"}, text), element("td", {}, String(n)))))
    note.textContent = model.note
    opener.classList.toggle("live", on)
    opener.dataset.count = on ? String(model.followers) : ""
  }
  const open = (wanted) => {
    panel.hidden = !wanted
    opener.setAttribute("aria-expanded", String(wanted))
  }
  opener.addEventListener("click", () => {
    if (panel.hidden && model.code === "") { send("teach") }
    open(panel.hidden)
  })
  root.addEventListener("keydown", (event) => {
    event.stopPropagation() // the page's keys move its cursor
    if (event.key === "Escape") { open(false); opener.focus() }
  })
  document.addEventListener("pointerdown", (event) => {
    if (!panel.hidden && !event.composedPath().includes(root)) { open(false) }
  })
  for (const name of ["code", "address", "host", "followers", "counts", "note"]) { model.on(name, draw) }
  draw()
  return root
}
