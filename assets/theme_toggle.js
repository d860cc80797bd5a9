// Chooses the other of light and dark; what that changes is up to the head of the page.
const ICONS = {
  light: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM3.5 5 5 3.5 7.8 6.4 6.4 7.8zM16.2 17.6l1.4-1.4 2.9 2.8-1.5 1.5zM19 3.5 20.5 5l-2.9 2.8-1.4-1.4zM6.4 16.2l1.4 1.4L5 20.5 3.5 19z",
  dark: "M12 3a9 9 0 1 0 9 9c0-.46-.04-.92-.1-1.36a5.39 5.39 0 0 1-4.4 2.26 5.4 5.4 0 0 1-3.14-9.8C12.92 3.04 12.46 3 12 3z",
}

export function render({model}) {
  const root = document.documentElement
  const other = () => dispatchEvent(new CustomEvent("choose-theme", {detail: root.dataset.theme === "dark" ? "light" : "dark"}))
  const toggle = button("", other, called("Toggle theme"))
  const draw = () => toggle.replaceChildren(icon(ICONS[root.dataset.theme] ?? ICONS.light))
  const observer = new MutationObserver(draw)
  observer.observe(root, {attributes: true, attributeFilter: ["data-theme"]})
  model.on("remove", () => observer.disconnect())
  draw()
  return toggle
}
