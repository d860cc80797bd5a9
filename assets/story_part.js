// A part of the story's card where a phone shows it: what is asked, or the steps of the guide.
export function render({model}) {
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
