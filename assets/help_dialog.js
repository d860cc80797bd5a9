// Says what a plot shows, beside the "?" that was pressed. Escape, a click elsewhere and its own button close it.
const APART = 8 // pixels

export function render({model}) {
  const close = button("×", () => card.hidePopover(), {class: "close", "aria-label": "Close"})
  const body = element("div")
  const card = element("div", {class: "card", popover: "auto", role: "dialog", tabindex: "-1", toggle, beforetoggle}, close, body)
  let asked = null

  const ask = (event) => {
    asked = event.detail.button
    const known = model.texts[event.detail.figure]
    if (known) { tell(known) } else { model.send_msg({figure: event.detail.figure}) }
  }
  const tell = ({title, html}) => {
    if (!asked?.isConnected) { return }
    body.innerHTML = html
    card.setAttribute("aria-label", title)
    card.showPopover()
    const at = asked.getBoundingClientRect(), {width, height} = card.getBoundingClientRect()
    const above = at.top - height - APART
    card.style.left = `${Math.max(APART, Math.min(at.left, innerWidth - width - APART))}px`
    card.style.top = `${above >= APART ? above : Math.max(APART, Math.min(at.bottom + APART, innerHeight - height - APART))}px`
    close.focus()
  }
  function toggle(event) { if (event.newState === "closed") { body.replaceChildren() } }
  // a popover gives the focus back to what had it, but for a "?" inside of a figure
  function beforetoggle(event) {
    if (event.newState === "closed" && card.contains(card.getRootNode().activeElement)) { setTimeout(() => asked?.focus()) }
  }
  addEventListener("explain-plot", ask)
  model.on("msg:custom", tell)
  model.on("remove", () => removeEventListener("explain-plot", ask))
  return card
}
