// The line that connects a program of the visitor's to this page, folded until it is wanted.
export function render({model}) {
  const line = element("pre", {tabindex: "0", "aria-label": "Line that connects your program"})
  const copies = copying("Copy", () => line.textContent, line, {class: "copy"})
  const weights = element("p")
  const code = (text) => element("code", {}, text)
  const toggle = () => { if (details.open) { model.send_msg({action: "open"}) } }
  const details = element("details", {class: "own-loop", toggle},
    element("summary", {title: tip("own_loops.summary")}, "Watch your own loop"),
    element("p", {}, "Start your program on this machine with"), line, copies,
    element("p", {}, "and call ", code("run.iterate(w=w)"), " in each round of its loop. " +
      "It returns False once you press Stop here. NumPy is all it needs."), weights)
  const draw = () => {
    const {origin, pathname} = location
    const address = `${model.at || origin + pathname.replace(/\/$/, "")}#${model.token}`
    line.textContent = model.token && `from solverscope.app.loops.client import solverscope_run; run = solverscope_run("mine", "${address}")`
    weights.textContent = model.size === 0 ? "The data have not loaded yet." :
      `It is shown on the problem that is chosen when it starts, now one of ${model.size} weight${model.size === 1 ? "" : "s"}.`
  }
  watch(model, ["token", "size"], draw)
  return details
}
