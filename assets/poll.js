// The question of a lesson. A browser tab has one answer; the page of the lesson is the same for all, so that what was
// answered here is kept here.
const WHO = "solverscope-who", GIVEN = "solverscope-answers"
const OF_CLASS = {stays: true, open: "Your answer? It is counted without your name.", given: "",
  late: "The runs have started: no more answers are taken."}

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
  const prediction = ask(({action, value}) => {
    if (action !== "answer") { return }
    const receipt = crypto.getRandomValues(new Uint32Array(1))[0]
    given[model.state.text] = {value, receipt, counted: false}
    keep(GIVEN, given)
    model.send_msg({who, answer: value, receipt})
    draw()
  }, OF_CLASS)
  const keydown = (event) => event.stopPropagation() // the page's keys move its cursor
  const root = element("section", {class: "poll", "aria-label": "The question of the lesson", keydown}, prediction.root)
  const shown = (value, {search, unit}) => {
    if (typeof value !== "number") { return value }
    const number = String(Number(value.toPrecision(3)))
    return search ? `t = ${number}` : `${number} ${unit}`.trim()
  }
  const fate = ({counted}, {open}) => {
    if (counted) { return open ? ". Thanks, your answer is in; you may change it until the runs start." : "" }
    return open ? ". It is being sent …" : ". It was not counted."
  }
  function draw() {
    const state = model.state, mine = given[state.text]
    if (mine && !mine.counted && model.receipts.includes(mine.receipt)) {
      mine.counted = true
      keep(GIVEN, given)
    }
    root.hidden = !state.text
    const told = mine ? `${shown(mine.value, state)}${fate(mine, state)}` : ""
    prediction.show({...state, answer: mine?.value ?? null, given: told})
  }
  watch(model, ["state", "receipts"], draw)
  return root
}
