// The question of a lesson. A browser tab answers once; the page of the lesson is the same for all, so that what was
// answered here is kept here.
const WHO = "solverscope-who", GIVEN = "solverscope-answers"

function kept(name, otherwise) {
  try { return JSON.parse(sessionStorage.getItem(name)) ?? otherwise } catch { return otherwise }
}
function keep(name, value) {
  try { sessionStorage.setItem(name, JSON.stringify(value)) } catch { /* storage is forbidden: as long as the page lasts */ }
}

export function render({model}) {
  const who = kept(WHO, Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join(""))
  keep(WHO, who)
  const given = kept(GIVEN, {})
  const keydown = (event) => event.stopPropagation() // the page's keys move its cursor
  const root = element("section", {"aria-label": "The question of the lesson", keydown})
  const answer = (value) => {
    given[model.state.text] = value
    keep(GIVEN, given)
    model.send_msg({who, answer: value})
    draw()
  }
  function ways({kind, choices, low, high, unit}) {
    if (kind === "choice") {
      return choices.map((choice) => button(choice, () => answer(choice)))
    }
    const field = element("input", {type: "number", step: "any", min: low, max: high, "aria-label": `Your answer ${unit}`})
    const give = () => { if (field.value !== "" && field.checkValidity()) { answer(Number(field.value)) } }
    return [field, element("span", {}, unit), button("Answer", give)]
  }
  function draw() {
    const state = model.state, mine = given[state.text]
    root.hidden = !state.text
    if (!state.text) { return }
    const parts = [element("p", {class: "asked"}, state.text)]
    if (mine !== undefined) { parts.push(element("p", {role: "status"}, `Your answer: ${mine}. ${state.said ? "" : "It was counted."}`)) }
    else if (state.open) { parts.push(element("div", {class: "ways"}, ...ways(state))) }
    if (state.said) { parts.push(element("p", {}, `${state.said} ${state.why ? `Why: ${state.why}` : ""}`)) }
    else if (!state.open && mine === undefined) { parts.push(element("p", {}, "The runs have started: no more answers are taken.")) }
    root.replaceChildren(...parts)
  }
  watch(model, ["state"], draw)
  return root
}
