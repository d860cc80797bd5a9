// What a screen reader says of a figure that has a name, its axes and curves; and two buttons in the corner below its
// axes: "?", which the page's own card answers, and one that opens the figure in a window of its own, where that can
// follow it. The page tells by data-follow whom.
{
  const STYLE = `position: absolute; bottom: 0; z-index: 2; width: 1.35em; height: 1.35em; padding: 0; border: 0;
    border-radius: 50%; font: inherit; line-height: 1; cursor: pointer; color: inherit; opacity: 0.75;
    background: color-mix(in srgb, currentColor 14%, transparent);`
  const add = (view, kind, left, text, title, click) => {
    const label = `${title} (${view.model.name.replaceAll("-", " ")})`
    const made = button(text, () => click(made), {class: kind, title, "aria-label": label, style: `left: ${left}; ${STYLE}`})
    view.shadow_el.append(made)
    return made
  }
  const describe = (view) => {
    const {name, left, below, renderers} = view.model
    const axes = [left, below].map(([axis]) => (axis?.axis_label ?? "").replaceAll(/\n|  ·  /g, ", ")).filter(Boolean)
    const curves = new Set(renderers.filter(({glyph}) => glyph?.type === "Line").map((one) => one.name).filter(Boolean))
    const said = [`Plot ${name.replaceAll("-", " ")}`, axes.join(" against "), [...curves].sort().join(", ")]
    view.el.setAttribute("role", "figure")
    view.el.setAttribute("aria-label", said.filter(Boolean).join(": "))
  }
  window.plotDrawn = (view) => {
    if (!view.model.name || view.shadow_el.querySelector(".help")) { return } // it is called again when laid out anew
    const {left, below, properties} = view.model
    const told = [properties.renderers, ...[...left, ...below].flatMap((axis) => axis.properties.axis_label ?? [])]
    for (const {change} of told) { view.connect(change, () => describe(view)) }
    describe(view)
    const explain = (button) => dispatchEvent(new CustomEvent("explain-plot", {detail: {figure: view.model.id, button}}))
    add(view, "help", "0", "?", "What does this plot show?", explain).setAttribute("aria-haspopup", "dialog")
    if (["teach", "follow"].some((name) => new URLSearchParams(location.search).has(name))) { return } // it follows itself
    for (let up = view; up; up = up.parent) {
      if (up.model.css_classes?.includes("unfollowed")) { return } // no runs of the page: nothing that a window could follow
    }
    add(view, "alone", "1.75em", "\u2197", "Open this plot in a window of its own", () => {
      const query = new URLSearchParams({view: view.model.name, follow: document.documentElement.dataset.follow ?? ""})
      open(`${location.pathname}?${query}`, "_blank", "popup,width=1000,height=700")
    })
  }
}
