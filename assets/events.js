// The events of a run, a line each, that a field filters; a click goes to that iterate.
export function render({model}) {
  const list = document.createElement("ol")
  list.className = "events"
  const filter = filtering("Filter events …", () => draw())
  const draw = () => {
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4
    list.replaceChildren(...filter.filtered(model.entries, (entry) => entry[2]).map(([iteration, kind, text]) => {
      const line = document.createElement("button")
      line.type = "button"
      line.className = kind
      line.dataset.iteration = iteration
      const number = document.createElement("span")
      number.className = "iteration"
      number.textContent = iteration
      const said = document.createElement("span")
      said.textContent = text
      line.append(number, said)
      line.addEventListener("click", () => model.send_msg({iteration}))
      const item = document.createElement("li")
      item.append(line)
      return item
    }))
    if (atEnd) { list.scrollTop = list.scrollHeight }
    mark()
  }
  const mark = () => {
    for (const line of list.querySelectorAll("button")) {
      line.setAttribute("aria-current", String(Number(line.dataset.iteration) === model.iteration))
    }
  }
  model.on("entries", draw)
  model.on("iteration", mark)
  draw()
  return element("div", {}, filter.field, list)
}
