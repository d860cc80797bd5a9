// A "?" on every figure that has a name, in the corner below its axes; the page's own card answers it.
{
  const { PlotView } = Bokeh.require("models/plots/plot")
  const STYLE = `position: absolute; left: 0; bottom: 0; z-index: 2; width: 1.35em; height: 1.35em; padding: 0; border: 0;
    border-radius: 50%; font: inherit; line-height: 1; cursor: pointer; color: inherit; opacity: 0.75;
    background: color-mix(in srgb, currentColor 14%, transparent);`
  const { after_render } = PlotView.prototype
  PlotView.prototype.after_render = function () {
    after_render.call(this)
    if (!this.model.name || this.shadow_el.querySelector(".help")) { return } // it is called again when laid out anew
    const button = document.createElement("button")
    button.type = "button"
    button.className = "help"
    button.textContent = "?"
    button.title = "What does this plot show?"
    button.setAttribute("aria-label", `What does this plot show? (${this.model.name.replaceAll("-", " ")})`)
    button.setAttribute("aria-haspopup", "dialog")
    button.style.cssText = STYLE
    button.addEventListener("click", () => dispatchEvent(new CustomEvent("explain-plot", {detail: {figure: this.model.id, button}})))
    this.shadow_el.append(button)
  }
}
