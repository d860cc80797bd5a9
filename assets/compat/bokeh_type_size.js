// An em of a text is the type of its plot.
{
  const { Text } = Bokeh.require("core/visuals/text")
  const { values } = Text.prototype
  Text.prototype.values = function () {
    const found = values.call(this), em = this.obj.plot_view?.base_font_size
    const [, size] = found.font_size?.match?.(/^([\d.]+)em$/) ?? []
    return em && size ? {...found, font_size: `${size * em}px`} : found
  }
}
