// A place for a file, which goes to the server in pieces: the next one when it is asked for.
export function render({model}) {
  let file = null
  const input = element("input", {type: "file", tabindex: "-1", hidden: true, change: () => { begin(input.files[0]); input.value = "" }})
  const choose = button(model.label, () => input.click(),
    {class: "choose", title: tip(model.tip, {mib: model.limits.size >> 20})})
  const notice = element("span", {role: "status"}), error = element("p", {role: "alert", class: "error"})
  const stop = button("Stop", () => { file = null; model.send_msg({action: "stop"}) })
  const busy = element("div", {class: "busy"}, notice, stop)
  const root = element("div", {class: "own", dragenter: over, dragover: over, dragleave: over, drop: over}, choose, input, busy, error)

  const begin = (chosen) => {
    if (!chosen) { return }
    file = chosen
    model.send_msg({action: "begin", name: file.name, size: file.size})
  }
  model.on("msg:custom", async ({from}) => {
    const sent = file
    let data
    try { data = await sent.slice(from, from + model.limits.chunk).arrayBuffer() } catch { data = new ArrayBuffer(0) } // gone meanwhile
    if (sent === file) { model.send_msg({action: "piece", data}) }
  })
  function over(event) {
    if (![...event.dataTransfer.types].includes("Files")) { return }
    event.preventDefault()
    root.classList.toggle("over", event.type !== "dragleave" && event.type !== "drop")
    if (event.type === "drop") { begin(event.dataTransfer.files[0]) }
  }

  const draw = () => {
    choose.hidden = model.busy
    busy.hidden = !model.busy
    if (notice.textContent !== model.notice) { notice.textContent = model.notice }
    if (error.textContent !== model.error) { error.textContent = model.error }
    error.hidden = model.error === ""
  }
  watch(model, ["busy", "notice", "error"], draw)
  return root
}
