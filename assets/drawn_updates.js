// Reports which of the server's updates has been drawn.
export function render({model}) {
  const drawn = () => requestAnimationFrame(() => setTimeout(() => { model.drawn = model.sent }))
  model.on("sent", drawn)
  return document.createElement("span")
}
