// The card of the story, and its parts where a phone shows them. Needs ask.js and glossary.js.
const LOOK = 100 // milliseconds between looks for the view that a step points at
const ACTS = ["pointerdown", "wheel", "keydown"]
const narrow = matchMedia("(max-width: 599.95px)") // a phone: see layout.css

// The steps of a guided story: where the guide is, its text, and the buttons that move on.
function guideSteps(model, go) {
  const place = element("b"), said = element("p", {"aria-live": "polite"}), note = element("p", {class: "note", role: "status"})
  const before = button("Back", () => go(model.step.at - 1), {title: tip("story_card.previous")})
  const next = button("Next", () => go(model.step.at + 1), {title: tip("story_card.next"), class: "next"})
  const end = button("End", () => go(null), {title: tip("story_card.end")})
  const root = element("div", {class: "steps", role: "group", "aria-label": "Guided story"},
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
      found.scrollIntoView({block: narrow.matches ? "start" : "nearest"}) // the sheet is at the bottom
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

  let at = null
  const draw = () => {
    const {step} = model, count = model.text.steps ?? 0
    root.hidden = step.text === undefined
    if (root.hidden) { at = null; enough(); return }
    place.textContent = `Step ${step.at + 1} of ${count}`
    said.replaceChildren(...glossed(step.text))
    note.textContent = step.note
    before.disabled = step.at === 0
    next.disabled = step.at === count - 1
    if (step.at !== at) { at = step.at; reveal() }
  }
  model.on("remove", enough)
  return {root, draw}
}

// The question of the story, what to look for, and whether the settings have left it; and the steps of a guided one.
function storyCard({model}) {
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
  const guide = button("Guide me through it", () => go(0), {title: tip("story_card.guide")})
  const kept = element("span", {}, ": what to look for holds for the story's settings")
  const change = element("p", {class: "changed", role: "status"}, element("span", {}, "modified", kept),
    button("reset story", () => model.send_msg({action: "back"}), {title: tip("story_card.back")}))
  const steps = guideSteps(model, go)

  let told = null // the question, once there was one
  const tell = () => {
    const other = told !== null && told !== model.text.question
    told = model.text.question ?? null
    if (other && told) { requestAnimationFrame(() => root.scrollIntoView({block: "start"})) }
    const known = new Set()
    question.replaceChildren(...glossed(model.text.question ?? "", known))
    points.replaceChildren(...(model.text.points ?? []).map((point) => element("li", {}, ...glossed(point, known))))
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

// What is asked, or the steps of the guide, below the plots.
function storyPart({model}) {
  const asks = model.part === "ask"
  const root = element("section", {"aria-label": asks ? "The story's question" : "The guide", hidden: true})
  const part = asks ? ask((said) => model.send_msg(said)) : guideSteps(model, (step) => model.send_msg({action: "go", step}))
  root.append(part.root)
  const draw = () => {
    if (narrow.matches) { // else the card itself is in sight, and says the same
      if (asks) { part.show(model.ask) } else { part.draw() }
    }
    root.hidden = !narrow.matches || part.root.hidden
  }
  narrow.addEventListener("change", draw)
  model.on("remove", () => narrow.removeEventListener("change", draw))
  watch(model, ["text", "ask", "step"], draw)
  return root
}
