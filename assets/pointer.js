// Says of each curve near the pointer which of its points is nearest: one line a curve, in one box. Where
// points have names, curves are many: it says it of the nearest of all alone.
const NEAR = 8, plot = cb_obj.origin, view = Bokeh.index.find_one(plot)
const home = view?.canvas_view?.shadow_el
if (!home) { return }
home.querySelectorAll(".pointed").forEach((el) => el.remove())
const {sx, sy} = cb_obj, {frame} = view
if (cb_obj.event_name === "mouseleave" || !frame.bbox.contains(sx, sy)) { return }

const write = (value) => {
  if (!Number.isFinite(value)) { return "\u2013" }
  const size = Math.abs(value)
  let text
  if (size !== 0 && !(1e-3 <= size && size < 1e7)) {
    const [mantissa, exponent] = value.toExponential(3).split("e")
    text = `${Number(mantissa)}e${Number(exponent)}`
  } else {
    const [whole, decimals] = String(Number.isInteger(value) ? value : Number(value.toPrecision(4))).split(".")
    text = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (decimals ? `.${decimals}` : "")
  }
  return text.replaceAll("-", "\u2212")
}

// the point of a curve that is nearest on the part of it, between two points, that is nearest to the pointer
const [left, right] = [frame.x_scale.invert(sx - NEAR), frame.x_scale.invert(sx + NEAR)]
const nearest = ({x, y}) => {
  let best = NEAR, found = null
  const place = (k) => ({k, x: frame.x_scale.compute(x[k]), y: frame.y_scale.compute(y[k])})
  for (let k = 0; k < x.length; k++) {
    const joined = k > 0 && Number.isFinite(x[k - 1] + y[k - 1]), before = joined ? x[k - 1] : x[k]
    if (!Number.isFinite(y[k]) || Math.max(before, x[k]) < left || Math.min(before, x[k]) > right) { continue }
    const at = place(k), last = joined ? place(k - 1) : at
    if (!Number.isFinite(at.x + at.y)) { continue }
    const from = Number.isFinite(last.x + last.y) ? last : at
    const dx = at.x - from.x, dy = at.y - from.y, length = dx * dx + dy * dy
    const along = length && ((sx - from.x) * dx + (sy - from.y) * dy) / length
    const t = Math.min(Math.max(along, 0), 1)
    const away = Math.hypot(from.x + t * dx - sx, from.y + t * dy - sy)
    const end = t < 0.5 ? from : at
    if (away < best && frame.bbox.contains(end.x, end.y)) { best = away; found = {...end, away} }
  }
  return found
}

const add = (to, style, textContent = "", className = "") => {
  const el = Object.assign(document.createElement("div"), {textContent, className})
  Object.assign(el.style, style)
  return to.appendChild(el)
}
const free = {position: "absolute", pointerEvents: "none", boxSizing: "border-box"}
let lines = []
for (const {glyph, data_source, name, visible} of plot.renderers) {
  if (!visible || glyph?.type !== "Line" || glyph.y.field !== "y") { continue }
  const {data} = data_source, point = nearest(data)
  if (point === null) { continue }
  const parts = said.map(([what, column]) => `${what} ${write(data[column][point.k])}`)
  if (names !== null && name) { parts.unshift(name) }
  const text = [`iteration ${write((data.iteration ?? data.x)[point.k])}`, ...parts].join(" \u00b7 ")
  const called = names === null ? name : names[data.of[point.k]]
  lines.push({name: called, point, color: glyph.line_color.value, text})
}
if (lines.length === 0) { return }
if (names !== null) { lines = [lines.reduce((best, one) => one.point.away < best.point.away ? one : best)] }
for (const {point, color} of lines) {
  const place = {left: `${point.x - 4}px`, top: `${point.y - 4}px`, width: "8px", height: "8px"}
  add(home, {...free, ...place, borderRadius: "50%", background: color}, "", "pointed")
}
const low = sy > frame.bbox.y_center, {width, height} = view.bbox
const box = add(home, {
  ...free,
  [low ? "bottom" : "top"]: `${low ? height - sy + 12 : sy + 12}px`,
  zIndex: 10, padding: "4px 8px", borderRadius: "4px", border: "1px solid #8888", whiteSpace: "nowrap",
  font: "12px/1.5 Roboto, sans-serif",
  color: plot.below[0].axis_label_text_color, background: getComputedStyle(document.body).backgroundColor,
}, "", "pointed box")
for (const {name, color, text} of lines) {
  const line = add(box, {}, "", "line")
  add(line, {display: "inline", fontWeight: 600, marginRight: "6px", color}, name)
  add(line, {display: "inline"}, text)
  const address = names === null ? "" : pictureOf(name, shape)
  if (address) {
    const picture = line.appendChild(document.createElement("img"))
    Object.assign(picture, {alt: "", className: "pixels", src: address})
    Object.assign(picture.style, {display: "block", margin: "4px 0"})
  }
}
const {offsetWidth} = box
const start = sx + 12 + offsetWidth <= width ? sx + 12 : sx - 12 - offsetWidth
box.style.left = `${Math.max(Math.min(start, width - offsetWidth), 0)}px`
