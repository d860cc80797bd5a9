// The story: its question, what to look for, and whether the settings have left it; and the steps of a guided one.
export function render({model}) {
  const [{data: frame}] = model.document.roots()
  const go = (step) => {
    if (narrow.matches) { frame.sidebar_open = false } // the steps stand below the plots there
    model.send_msg({action: "go", step})
  }
  const question = element("p", {class: "question"}), points = element("ul")
  const prediction = ask((said) => model.send_msg(said))
  const summary = element("summary", {click: () => { folded = card.open }}, "What to look for")
  const card = element("details", {open: !model.changed}, summary, question, points)
  let folded = false, asking = false // by the visitor; and while they are asked, it would tell the answer
  const guide = button("Guide me through it", () => go(0), {title: "Go through the story step by step"})
  const kept = element("span", {}, ": what to look for holds for its own settings")
  const change = element("p", {class: "changed", role: "status"}, element("span", {}, "story, changed", kept),
    button("back to its settings", () => model.send_msg({action: "back"}), {title: "Restore the settings of the story"}))
  const steps = guideSteps(model, go)

  let told = null // the question, once there was one
  const tell = () => {
    const other = told !== null && told !== model.text.question
    told = model.text.question ?? null
    if (other && told) { requestAnimationFrame(() => root.scrollIntoView({block: "start"})) }
    question.textContent = model.text.question ?? ""
    points.replaceChildren(...(model.text.points ?? []).map((point) => element("li", {}, point)))
    draw()
  }
  const expect = () => {
    prediction.show(model.ask)
    const now = Boolean(model.ask.open)
    if (now !== asking) { asking = now; card.open = !now && !folded }
  }
  const draw = () => {
    const guided = model.step.text !== undefined
    root.hidden = !model.text.question
    change.hidden = !model.changed
    kept.hidden = model.holds
    card.hidden = guided || !model.holds
    guide.hidden = guided || !model.text.steps
    steps.draw()
  }
  const root = element("section", {class: "in-sidebar", "aria-label": "Story"},
    prediction.root, card, steps.root, guide, change)
  watch(model, ["text"], tell)
  watch(model, ["changed", "holds", "step"], draw)
  watch(model, ["ask"], expect)
  return root
}
