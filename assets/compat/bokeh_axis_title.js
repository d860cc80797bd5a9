/*
package = "bokeh"
upstream = """\
BokehJS centres the title of an axis and cuts off what is outside the picture, while it moves tick labels into it \
(no issue found)."""
without = "Titles of axes are cut off in low and narrow plots."
knows = [
    "server/static/js/bokeh.js:AxisView._draw_axis_label",
    "server/static/js/bokeh.js:AxisView._axis_label_extent",
]
digest = "76c6774f83a75434"
*/
// The title of an axis stays in the picture: it is moved there, and is smaller where it is longer than the picture.
{
  const { AxisView } = Bokeh.require("models/axes/axis")
  const { _draw_axis_label } = AxisView.prototype
  AxisView.prototype._draw_axis_label = function (ctx, ...rest) {
    const title = this._axis_label_view?.graphics(), { bbox, dimension, panel } = this
    if (!title) { return }
    title.visuals = this.visuals.axis_label_text.values()
    title.angle = panel.get_label_angle_heuristic(this.model.axis_label_orientation)
    title.base_font_size = this.plot_view.base_font_size
    const { width, height } = title.size(), picture = this.plot_view.bbox, front = panel.face === "front"
    const [long, room, middle] = dimension === 0 ? [width, picture.width, bbox.hcenter] : [height, picture.height, bbox.vcenter]
    const scale = Math.min(room / long, 1), reach = scale * long / 2
    const at = Math.min(Math.max(middle, reach), room - reach)
    const [x, y] = dimension === 0 ? [middle, front ? bbox.bottom : bbox.top] : [front ? bbox.right : bbox.left, middle]
    ctx.save()
    ctx.translate(...(dimension === 0 ? [at, y] : [x, at]))
    ctx.scale(scale, scale)
    ctx.translate(-x, -y)
    _draw_axis_label.call(this, ctx, ...rest)
    ctx.restore()
  }
}
