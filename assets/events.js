// The events of a run, a line each, that a field filters; a click goes to that iterate.
export function render({model}) {
  const list = element("ol", {class: "events"})
  const filter = filtering("Filter events …", () => draw())
  const draw = () => {
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4
    list.replaceChildren(...filter.filtered(model.entries, (entry) => entry[2]).map(([iteration, kind, text]) => {
      const line = button(element("span", {class: "iteration"}, iteration), () => model.send_msg({iteration}),
        {class: kind, "data-iteration": iteration})
      line.append(element("span", {}, text))
      return element("li", {}, line)
    }))
    if (atEnd) { list.scrollTop = list.scrollHeight }
    mark()
  }
  const mark = () => {
    for (const line of list.querySelectorAll("button")) {
      line.setAttribute("aria-current", String(Number(line.dataset.iteration) === model.iteration))
    }
  }
  watch(model, ["entries"], draw)
  watch(model, ["iteration"], mark)
  return element("div", {}, filter.field, list)
}
