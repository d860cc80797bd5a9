// The story: its question, what to look for, and whether the settings have left it; and the steps of a guided one.
const LOOK = 100 // milliseconds between looks for the view that a step points at
const ACTS = ["pointerdown", "wheel", "keydown"]

export function render({model}) {
  const go = (step) => model.send_msg({action: "go", step})
  const question = element("p", {class: "question"}), points = element("ul")
  const prediction = ask((said) => model.send_msg(said))
  const summary = element("summary", {click: () => { folded = card.open }}, "What to look for")
  const card = element("details", {open: !model.changed}, summary, question, points)
  let folded = false, asking = false // by the visitor; and while they are asked, it would tell the answer
  const guide = button("Guide me through it", () => go(0), {title: "Go through the story step by step"})
  const change = element("p", {class: "changed", role: "status"}, "story, changed",
    button("back to its settings", () => model.send_msg({action: "back"}), {title: "Restore the settings of the story"}))
  const place = element("b"), said = element("p", {"aria-live": "polite"}), note = element("p", {class: "note", role: "status"})
  const before = button("Back", () => go(model.step.at - 1), {title: "The step before"})
  const next = button("Next", () => go(model.step.at + 1), {title: "The next step", class: "next"})
  const end = button("End", () => go(null), {title: "Leave the guide and keep everything as it is"})
  const steps = element("div", {class: "steps", role: "group", "aria-label": "Guided story"},
    place, said, note, element("div", {class: "acts"}, before, next, end))

  // The view that a step points at comes with the page's next changes, and may have to be made first. It is looked
  // for until the visitor does something: then the page stays where it is.
  let looking = null
  const enough = () => {
    clearTimeout(looking)
    for (const act of ACTS) { removeEventListener(act, enough, true) }
  }
  const look = () => {
    const found = inside(document).find((el) => el.classList.contains("pointed"))
    if (found?.offsetParent) {
      found.scrollIntoView({block: "nearest"})
      enough()
    } else {
      looking = setTimeout(look, LOOK)
    }
  }
  const reveal = () => {
    enough()
    for (const act of ACTS) { addEventListener(act, enough, true) }
    look()
  }

  const tell = () => {
    question.textContent = model.text.question ?? ""
    points.replaceChildren(...(model.text.points ?? []).map((point) => element("li", {}, point)))
    draw()
  }
  const expect = () => {
    prediction.show(model.ask)
    const now = Boolean(model.ask.open)
    if (now !== asking) { asking = now; card.open = !now && !folded }
  }
  let at = null
  const draw = () => {
    const {step} = model, count = model.text.steps ?? 0, guided = step.text !== undefined
    change.hidden = !model.changed
    card.hidden = guided
    steps.hidden = !guided
    guide.hidden = guided || !count
    if (!guided) { at = null; enough(); return }
    place.textContent = `Step ${step.at + 1} of ${count}`
    said.textContent = step.text
    note.textContent = step.note
    before.disabled = step.at === 0
    next.disabled = step.at === count - 1
    if (step.at !== at) { at = step.at; reveal() }
  }
  watch(model, ["text"], tell)
  watch(model, ["changed", "step"], draw)
  watch(model, ["ask"], expect)
  model.on("remove", enough)
  return element("section", {"aria-label": "Story"}, prediction.root, card, steps, guide, change)
}
