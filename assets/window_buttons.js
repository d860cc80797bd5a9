// A button on every figure that has a name, beside its "?", that opens it in a window of its own. The page tells
// by data-follow what the window is to follow.
{
  const { PlotView } = Bokeh.require("models/plots/plot")
  const STYLE = `position: absolute; left: 1.75em; bottom: 0; z-index: 2; width: 1.35em; height: 1.35em; padding: 0; border: 0;
    border-radius: 50%; font: inherit; line-height: 1; cursor: pointer; color: inherit; opacity: 0.75;
    background: color-mix(in srgb, currentColor 14%, transparent);`
  const { after_render } = PlotView.prototype
  PlotView.prototype.after_render = function () {
    after_render.call(this)
    if (!this.model.name || this.shadow_el.querySelector(".alone")) { return }
    const button = document.createElement("button")
    button.type = "button"
    button.className = "alone"
    button.textContent = "\u2197"
    button.title = "Open this plot in a window of its own"
    button.setAttribute("aria-label", `${button.title} (${this.model.name.replaceAll("-", " ")})`)
    button.style.cssText = STYLE
    button.addEventListener("click", () => {
      const query = new URLSearchParams({view: this.model.name, follow: document.documentElement.dataset.follow ?? ""})
      open(`${location.pathname}?${query}`, "_blank", "popup,width=1000,height=700")
    })
    this.shadow_el.append(button)
  }
}
