// What the page adds to a plot that has a name: what a screen reader says of it, its axes and curves; two buttons in
// the corner below its axes, "?", which the page's own card answers, and one that opens it in a window of its own,
// where that can follow it (the page tells by data-follow whom); sizes of type that suit it.
{
  const STYLE = `position: absolute; bottom: 0; z-index: 2; width: 1.35em; height: 1.35em; padding: 0; border: 0;
    border-radius: 50%; font: inherit; line-height: 1; cursor: pointer; color: inherit; opacity: 0.75;
    background: color-mix(in srgb, currentColor 14%, transparent);`
  const make = (model, kind, left, text, title, click) => {
    const label = `${title} (${model.name.replaceAll("-", " ")})`
    const made = button(text, () => click(made), {class: kind, title, "aria-label": label, style: `left: ${left}; ${STYLE}`})
    return made
  }
  const describe = (model, element) => {
    const {name, left, below, renderers} = model
    const axes = [left, below].map(([axis]) => (axis?.axis_label ?? "").replaceAll(/\n|  ·  /g, ", ")).filter(Boolean)
    const curves = new Set(renderers.filter(({glyph}) => glyph?.type === "Line").map((one) => one.name).filter(Boolean))
    const said = [`Plot ${name.replaceAll("-", " ")}`, axes.join(" against "), [...curves].sort().join(", ")]
    element.setAttribute("role", "figure")
    element.setAttribute("aria-label", said.filter(Boolean).join(": "))
  }
  // The button for a window of its own, unless the page follows another one itself, or the plot shows no runs of the
  // page: nothing that a window could follow.
  const followed = (element) => {
    if (["teach", "follow"].some((name) => new URLSearchParams(location.search).has(name))) { return false }
    for (let up = element; up; up = up.parentNode ?? up.host) {
      if (up.classList?.contains("unfollowed")) { return false }
    }
    return true
  }
  const buttons = (model, element) => {
    const explain = (one) => dispatchEvent(new CustomEvent("explain-plot", {detail: {figure: model.id, button: one}}))
    const help = make(model, "help", "0", "?", tip("plots.help"), explain)
    help.setAttribute("aria-haspopup", "dialog")
    if (!followed(element)) { return [help] }
    const alone = make(model, "alone", "1.75em", "\u2197", tip("plots.alone"), () => {
      const query = new URLSearchParams({view: model.name, follow: document.documentElement.dataset.follow ?? ""})
      open(`${location.pathname}?${query}`, "_blank", "popup,width=1000,height=700")
    })
    return [help, alone]
  }
  // BokehJS may take note of the size of a plot that has become lower, as where the legend below it needs another
  // line, without laying it out: it would be drawn across what is below it.
  const laidOut = ({properties}) => !properties.inner_width.is_unset // it throws else
  const models = new WeakMap() // by the element of the plot
  const resized = new ResizeObserver((seen) => {
    for (const {target} of seen) {
      const model = models.get(target), {width, height} = target.getBoundingClientRect()
      if (height && laidOut(model) && (Math.floor(width) !== model.outer_width || Math.floor(height) !== model.outer_height)) {
        Bokeh.index.find_one_by_id(model.id)?.compute_layout()
      }
    }
  })
  // Text on axes is of the size of type in the plot (BokehJS takes an em there to be 13 pixels), and a title that would
  // be cut off, which stands at the middle of its axis, is smaller.
  const EM = 13, measure = document.createElement("canvas").getContext("2d")
  const size = (pixels) => pixels === EM ? "1em" : `${pixels}px`
  const fit = (model, element) => {
    const frame = Bokeh.index.find_one_by_id(model.id)?.frame?.bbox, type = parseFloat(getComputedStyle(element).fontSize)
    if (!frame || !laidOut(model) || !(model.inner_width > 0 && model.inner_height > 0)) { return }
    const sides = [[model.below, frame.hcenter, model.outer_width], [model.left, frame.vcenter, model.outer_height]]
    for (const [axes, middle, length] of sides) {
      for (const axis of axes.filter((one) => one.axis_label)) {
        measure.font = `${type}px ${axis.axis_label_text_font}`
        const long = Math.max(...axis.axis_label.split("\n").map((line) => measure.measureText(line).width))
        const scale = Math.min(1, 2 * Math.min(middle, length - middle) / long)
        const title = scale < 1 ? Math.max(Math.floor(2 * scale * type) / 2, 1) : type
        const sizes = {axis_label_text_font_size: size(title), major_label_text_font_size: size(type)}
        axis.setv(sizes, {sync: false}) // the server need not know
      }
    }
  }
  const fits = new Map() // by model, the elements of plots that are to be looked at
  const ask = (model, element) => {
    if (fits.size === 0) {
      requestAnimationFrame(() => {
        const asked = [...fits]
        fits.clear()
        for (const [one, drawn] of asked) { if (drawn.isConnected) { fit(one, drawn) } }
      })
    }
    fits.set(model, element)
  }
  const elements = new WeakMap() // by model
  const begin = (model, element) => {
    models.set(element, model)
    resized.observe(element)
    if (!elements.has(model)) {
      const {left, below, properties} = model
      const told = [properties.renderers, ...[...left, ...below].flatMap((axis) => axis.properties.axis_label ?? [])]
      for (const {change} of told) { change.connect(() => describe(model, elements.get(model))) }
      const moved = [properties.inner_width, properties.inner_height, ...told.slice(1)]
      for (const {change} of moved) { change.connect(() => ask(model, elements.get(model))) }
    }
    elements.set(model, element)
    describe(model, element)
    ask(model, element)
    requestAnimationFrame(() => window.plotDrawn?.(model)) // Bokeh has drawn it by then, and hears of changes
  }
  // BokehJS puts one into the root of each plot whenever it draws that anew.
  customElements.define("plot-extras", class extends HTMLElement {
    retype = () => { ask(...this.drawn) }
    connectedCallback() {
      const id = this.dataset.figure, found = Bokeh.documents.map((page) => page.get_model_by_id(id)).find(Boolean)
      const element = this.getRootNode().host
      if (!found || !element) { return }
      this.style.display = "contents"
      this.replaceChildren(...buttons(found, element))
      this.drawn = [found, element]
      addEventListener("type-size", this.retype)
      begin(found, element)
    }
    disconnectedCallback() { removeEventListener("type-size", this.retype) }
  })
}

// Calls a function with every plot once it is drawn for the first time.
function eachPlot(act) {
  const known = new WeakSet(), before = window.plotDrawn
  window.plotDrawn = (model) => { // it is called again when drawn anew
    before?.(model)
    if (!known.has(model)) {
      known.add(model)
      act(model)
    }
  }
}

// A finger on a plot scrolls the page: it would zoom in by a box else. A press on a tool of the plot makes it zoom again.
if (matchMedia("(pointer: coarse)").matches) {
  eachPlot((model) => {
    const {active_changed} = model.toolbar // BokehJS 3.10 does not emit it, and lets no finger scroll
    for (const tool of model.toolbar.tools) {
      tool.properties.active?.change.connect(() => active_changed.emit())
      if (tool.active && tool.event_types?.includes("pan")) { tool.active = false }
    }
  })
}
