// A button that puts a text into the clipboard; where the browser refuses it says so, and what is shown of the text is selected.
function copying(label, textOf, shown, attributes = {}) {
  const made = button(label, async () => {
    try { await copy(textOf()); made.textContent = "Copied" } catch {
      if (shown) { getSelection().selectAllChildren(shown) } else { made.textContent = "Not copied: the browser refused" }
    }
    setTimeout(() => { made.textContent = label }, 1500)
  }, attributes)
  return made
}

async function copy(text) {
  if (navigator.clipboard) { return navigator.clipboard.writeText(text) }
  // a page that is not served to this machine has no clipboard of its own
  const area = document.createElement("textarea")
  area.value = text
  document.body.append(area)
  area.select()
  const done = document.execCommand("copy")
  area.remove()
  if (!done) { throw new Error("the browser does not allow it") }
}

// One such button for each text.
function copyButtons({model}) {
  const root = element("div", {class: "more"})
  const names = () => Object.keys(model.texts)
  let drawn = ""
  const draw = () => {
    if (names().join() === drawn) { return } // else the one that has the focus would be replaced
    drawn = names().join()
    root.replaceChildren(...names().map((name) => copying(`Copy as ${name}`, () => model.texts[name])))
  }
  watch(model, ["texts"], draw)
  return root
}
