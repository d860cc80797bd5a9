// What a story asks before its run: choices, or a number, which may be the step on a picture of φ; and the answer.
const WIDE = 260, HIGH = 96 // of the picture, in its own units
let asked = 0

// In ``words``: what is said while no answer was given, and of one that was.
const OWN_RUN = {open: "Your answer? Then press Run.", given: "", late: "The answer comes with the runs."}

function ask(send, words = OWN_RUN) {
  const name = `ask-${++asked}`
  const legend = element("legend"), place = element("div", {class: "answers"}), given = element("span", {class: "given"})
  const skip = button("Skip", () => send({action: "skip"}), {title: tip("ask.skip")})
  const foot = element("div", {class: "given-line"}, given, skip)
  const fields = element("fieldset", {}, legend, place, foot)
  const said = element("p", {class: "said", role: "status"}), why = element("p", {class: "why"})
  const wrong = element("p", {class: "wrong", role: "alert"}), others = element("table", {class: "class"})
  const root = element("div", {class: "ask"}, fields, wrong, said, others, why)
  let drawn = ""

  const answer = (value) => send({action: "answer", value})
  const choices = (told) => told.choices.map((choice) =>
    element("label", {}, element("input", {type: "radio", name, value: choice, change: () => answer(choice)}), choice))

  // φ as a curve that is clicked on, and a slider under it for those who do not point
  const step = (told) => {
    const input = element("input", {type: "range", min: told.low, max: told.high, step: (told.high - told.low) / 500,
      value: told.answer ?? told.low, "aria-label": "step t", change: () => answer(+input.value)})
    const label = element("div", {class: "wide"}, input, element("div", {class: "ends", "aria-hidden": "true"},
      ...[`t = ${told.low}`, "step t", `${told.high}`].map((text) => element("span", {}, text))))
    const {t, phi} = told.picture
    if (!t) { return [element("p", {}, "φ is drawn here in a moment …"), label] }
    const least = Math.min(...phi), span = Math.max(...phi) - least || 1
    const across = (x) => WIDE * (x - told.low) / (told.high - told.low)
    const down = (y) => 4 + (HIGH - 8) * (1 - (y - least) / span)
    const svg = shape("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, class: "phi", role: "img",
      "aria-label": `φ(t), the objective along the search, for steps t ${told.range}`})
    const mark = shape("line", {y1: 0, y2: HIGH, class: "mark"})
    const points = t.map((x, k) => `${across(x).toFixed(1)},${down(phi[k]).toFixed(1)}`).join(" ")
    svg.append(shape("polyline", {points, class: "curve"}), mark)
    const show = () => {
      mark.setAttribute("x1", across(+input.value))
      mark.setAttribute("x2", across(+input.value))
    }
    mark.style.display = told.answer === null ? "none" : ""
    const change = () => { mark.style.display = ""; show() }
    input.addEventListener("input", change)
    svg.addEventListener("click", (event) => {
      const {left, width} = svg.getBoundingClientRect()
      input.value = told.low + (told.high - told.low) * (event.clientX - left) / width
      change()
      answer(+input.value)
    })
    show()
    return [svg, label]
  }

  const number = (told) => {
    const input = element("input", {type: "number", min: told.low, max: told.high, step: "any", inputmode: "decimal",
      value: told.answer, change: () => {
        const right = input.value !== "" && input.checkValidity()
        wrong.textContent = right ? "" : `Answer with a number ${told.range}.`
        if (right) { answer(+input.value) }
      }})
    return [element("label", {class: "wide"}, told.range, input, told.unit)]
  }

  // what others have answered, as bars
  const count = (answers = [], note = "") => {
    const most = Math.max(...answers.map(([, n]) => n))
    others.hidden = answers.length === 0
    others.replaceChildren(element("caption", {}, note), ...answers.map(([text, n, right]) => {
      const bar = element("span", {style: `width: ${100 * n / most}%`})
      return element("tr", {class: right ? "right" : ""}, element("th", {scope: "row"}, right ? `${text} ✓` : text),
        element("td", {class: "bar"}, bar), element("td", {}, String(n)))
    }))
  }

  return {root, show: (told) => {
    root.hidden = !told.text
    if (root.hidden) { drawn = ""; return }
    legend.textContent = told.text
    const build = JSON.stringify([told.text, told.choices, Boolean(told.picture.t)])
    if (build !== drawn) { // else the one that has the focus would be replaced
      drawn = build
      place.replaceChildren(...(told.kind === "choice" ? choices : told.search ? step : number)(told))
    }
    for (const input of place.querySelectorAll("input")) {
      input.disabled = !told.open
      if (input.type === "radio") { input.checked = input.value === told.answer }
    }
    place.hidden = !told.open
    given.textContent = told.given ? `Your answer: ${told.given}${told.open ? words.given : ""}` : told.open ? words.open : words.late
    foot.hidden = Boolean(told.said) && !(words.stays && told.given)
    skip.hidden = !told.open || words.stays
    if (!told.open) { wrong.textContent = "" }
    count(told.others, told.counted)
    said.textContent = told.said
    why.textContent = told.why ? `Why: ${told.why}` : ""
  }}
}
