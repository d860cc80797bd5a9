// The steps of a guided story: where the guide is, what it says, and the way on. Needs elements.js.
const LOOK = 100 // milliseconds between looks for the view that a step points at
const ACTS = ["pointerdown", "wheel", "keydown"]
const narrow = matchMedia("(max-width: 599.95px)") // a phone: see layout.css

function guideSteps(model, go) {
  const place = element("b"), said = element("p", {"aria-live": "polite"}), note = element("p", {class: "note", role: "status"})
  const before = button("Back", () => go(model.step.at - 1), {title: "The step before"})
  const next = button("Next", () => go(model.step.at + 1), {title: "The next step", class: "next"})
  const end = button("End", () => go(null), {title: "Leave the guide and keep everything as it is"})
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
    said.textContent = step.text
    note.textContent = step.note
    before.disabled = step.at === 0
    next.disabled = step.at === count - 1
    if (step.at !== at) { at = step.at; reveal() }
  }
  model.on("remove", enough)
  return {root, draw}
}
