// Copies texts: one button each.
const SAID = 1500

export function render({model}) {
  const root = document.createElement("div")
  root.className = "more"
  const draw = () => root.replaceChildren(...Object.keys(model.texts).map((name) => {
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = `Copy as ${name}`
    button.addEventListener("click", async () => {
      try {
        await copy(model.texts[name])
        button.textContent = "Copied"
      } catch { button.textContent = "Not copied: the browser refused" }
      setTimeout(() => { button.textContent = `Copy as ${name}` }, SAID)
    })
    return button
  }))
  const names = () => Object.keys(model.texts).join()
  let drawn = names()
  model.on("texts", () => { if (names() !== drawn) { drawn = names(); draw() } })
  draw()
  return root
}
