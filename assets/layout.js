// Bokeh lays the whole page out anew at every change that may move something, at once, and once more for every
// plot whose tick labels have become wider, hidden ones too; and it writes every style sheet anew meanwhile. With
// all tabs opened that takes the browser seconds. Here it does so once a frame, for what is seen, and writes what
// differs; and a plot whose labels have become wider is laid out alone.
{
  const { LayoutDOMView } = Bokeh.require("models/layouts/layout_dom")
  const { PlotView } = Bokeh.require("models/plots/plot")
  const { InlineStyleSheet } = Bokeh.require("core/dom")
  const { VisualProperties } = Bokeh.require("core/visuals/visual")
  // The whole page is one component of Panel, which all others in it ask for a layout.
  const { prototype: root } = Object.getPrototypeOf(
    Bokeh.Models.get("panel.models.esm.ReactComponent").prototype.default_view,
  )

  // A style sheet that is written makes the browser look for the styles of all that it may concern.
  let held = null // texts of sheets, until all of them are known
  Object.defineProperty(InlineStyleSheet.prototype, "css", {
    get() { return held?.get(this) ?? this.el.textContent },
  })
  InlineStyleSheet.prototype._update = function (css) {
    if (held !== null) {
      held.set(this, css)
    } else if (css !== this.el.textContent) {
      this.el.textContent = css
    }
  }
  const write = () => {
    const texts = held ?? []
    held = null
    for (const [sheet, css] of texts) { sheet._update(css) }
  }
  const in_one = (change) => {
    held ??= new Map()
    try { change() } finally { write() }
  }

  const { _actual_paint } = PlotView.prototype
  PlotView.prototype._actual_paint = function () { in_one(() => _actual_paint.call(this)) }

  // Bokeh asks the style sheets for each colour of each mark at each painting. None of the page's gives one.
  VisualProperties.prototype._get_css_value = () => ""

  // The size of type, which each axis asks for at each painting, makes the browser find all styles at once.
  const { get: size_of_type } = Object.getOwnPropertyDescriptor(PlotView.prototype, "base_font_size")
  const sizes = new WeakMap() // the sizes that a plot has had, by the page's mode
  Object.defineProperty(PlotView.prototype, "base_font_size", {
    get() {
      const mode = document.documentElement.dataset.view
      const known = sizes.get(this) ?? new Map()
      sizes.set(this, known)
      if (!known.has(mode)) {
        const size = size_of_type.call(this)
        if (size === null) { return null }
        known.set(mode, size)
      }
      return known.get(mode)
    },
  })

  // What is hidden is laid out once, for the page to be complete, and when it is shown again, which asks for that.
  for (const name of ["update_layout", "measure_layout", "_compute_layout", "after_layout"]) {
    const always = LayoutDOMView.prototype[name]
    LayoutDOMView.prototype[name] = function () {
      if (this.model.visible || !this.has_finished()) { always.call(this) }
    }
  }
  const { _invalidate_layout_if_needed } = PlotView.prototype
  PlotView.prototype._invalidate_layout_if_needed = function () {
    if (this.is_displayed) { _invalidate_layout_if_needed.call(this) }
  }

  // No plot here is as large as what is in it: the rest of the page stays where it is.
  PlotView.prototype.compute_layout = function () {
    write()
    this.measure_layout()
    this.update_bbox()
    this._compute_layout()
    this.after_layout()
    this._layout_computed = true
  }

  const asked = new Map() // whether the styles have changed too, by the view that is to be laid out
  const lay_out = () => {
    const views = [...asked]
    asked.clear()
    for (const [view, restyled] of views) {
      if (restyled) { in_one(() => view.update_layout()) }
      compute_layout.call(view)
    }
  }
  const ask = (view, restyled) => {
    if (asked.size === 0) { requestAnimationFrame(lay_out) }
    asked.set(view, restyled || asked.get(view))
  }
  const { compute_layout, invalidate_layout } = root
  root.compute_layout = function () {
    if (this.is_managed) { compute_layout.call(this) } else { ask(this, false) }
  }
  root.invalidate_layout = function () {
    if (this.is_managed) { invalidate_layout.call(this) } else { ask(this, true) }
  }
}
