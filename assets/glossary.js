// Technical words of a text as buttons, each where it stands first: a press, the pointer or the focus says what it
// means. GLOSSARY is app/help/glossary.toml. Words in "known" have been told already.
const LETTER = String.raw`[\p{L}\p{N}-]`
const WORDS = GLOSSARY.flatMap(({names, ...meaning}) => names.map((name) => {
  const literal = name.replace(/[*.]/g, "\\$&")
  return {...meaning, name, found: new RegExp(`(?<!${LETTER})${literal}(?!${LETTER})`, "iu")}
}))

function term(shown, {id, text, line, mark}) {
  const picture = shape("svg", {viewBox: "0 0 64 32", "aria-hidden": "true"},
    shape("path", {d: line}), shape("path", {d: mark, class: "mark"}))
  const box = element("span", {popover: "auto", class: "meaning", id: `meaning-${id}`}, picture, element("span", {}, text))
  let pressed = false
  const show = () => {
    if (!el.isConnected || box.isConnected) { return }
    el.getRootNode().append(box) // not within the text, which stays as it is told
    box.showPopover()
    const at = el.getBoundingClientRect(), {offsetWidth: width, offsetHeight: height} = box
    box.style.left = `${Math.max(4, Math.min(at.left, innerWidth - width - 4))}px`
    box.style.top = `${at.bottom + height + 4 < innerHeight ? at.bottom + 2 : Math.max(4, at.top - height - 2)}px`
  }
  const hide = () => { if (!pressed && box.matches(":popover-open")) { box.hidePopover() } }
  const press = () => { pressed = !pressed; pressed ? show() : hide() }
  box.addEventListener("toggle", ({newState}) => { if (newState === "closed") { pressed = false; box.remove() } })
  const el = button(shown, press,
    {class: "term", "aria-describedby": `meaning-${id}`, mouseenter: show, mouseleave: hide, focus: show, blur: hide})
  return el
}

function glossed(text, known = new Set()) {
  const parts = []
  for (let rest = text; ;) {
    const next = WORDS.filter(({id}) => !known.has(id))
      .map((word) => ({word, at: rest.search(word.found)})).filter(({at}) => at >= 0)
      .sort((one, other) => one.at - other.at || other.word.name.length - one.word.name.length)[0]
    if (next === undefined) { return [...parts, rest] }
    const end = next.at + next.word.name.length
    known.add(next.word.id)
    parts.push(rest.slice(0, next.at), term(rest.slice(next.at, end), next.word))
    rest = rest.slice(end)
  }
}
