// The address that others follow this page at, for a teacher to read out, copy or show.
const SCHOOL = "M5 13.18v4L12 21l7-3.82v-4L12 17l-7-3.82zM12 3 1 9l11 6 9-4.91V17h2V9L12 3z"
const HERE = ["localhost", "127.0.0.1", "[::1]"] // on another machine these mean that one

export function render({model}) {
  const send = (action) => model.send_msg({action})
  const address = element("output", {class: "address", tabindex: "0"}), note = element("p"), counts = element("table"), count = element("p", {role: "status"})
  const what = element("p", {}, "Whoever opens this address sees your data, runs, cursor and tab live. They can change nothing here; " +
    "they may look around alone, or try your settings on a page of their own. The link works as long as this page stays open.")
  const copies = copying("Copy", () => address.textContent, address)
  const start = button("Start", () => send("teach")), end = button("End", () => send("end"))
  const {root, opener} = panel(SCHOOL, "Teach this", tip("teaching.open"),
    () => { if (model.code === "") { send("teach") } },
    element("h2", {}, "Teach this"), what, address, count, counts, element("div", {class: "acts"}, start, copies, end), note)
  const number = (n) => n === 1 ? "1 follower" : `${n} followers`
  const whole = () => {
    const url = new URL(`${location.pathname}${model.address}`, location.origin)
    if (model.host !== "" && HERE.includes(url.hostname.replace(/\.$/, ""))) { url.hostname = model.host }
    return url.href
  }
  const draw = () => {
    const on = model.code !== ""
    address.textContent = on ? whole() : ""
    count.textContent = on ? number(model.followers) : ""
    for (const part of [address, count, copies, end]) { part.hidden = !on }
    start.hidden = on
    counts.hidden = !on || model.counts.length === 0
    counts.replaceChildren(element("caption", {}, "Their answers"), ...model.counts.map(([text, n]) =>
      element("tr", {}, element("th", {scope: "row"}, text), element("td", {}, String(n)))))
    note.textContent = model.note
    opener.classList.toggle("live", on)
    opener.dataset.count = on ? String(model.followers) : ""
  }
  watch(model, ["code", "address", "host", "followers", "counts", "note"], draw)
  return root
}
