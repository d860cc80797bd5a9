// Copies texts: one button each.
export function render({model}) {
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
