// What is taken along: files that the server makes, and pictures that are drawn here from the figures in sight.
const DOWNLOAD = "M5 20h14v-2H5v2zM19 9h-4V3H9v6H5l7 7 7-7z"
const LINE = 20, ENTRY_GAP = 18, SAMPLE = 30, MARGIN = 12

function save(file, blob) {
  const link = element("a", {href: URL.createObjectURL(blob), download: file})
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

// Which line is which run, of the curves that a figure has, in the order of the runs.
function curves(plot, runs, notes) {
  const found = new Map()
  for (const {name, glyph, data_source, visible} of plot.renderers) {
    if (!visible || !name || glyph?.type !== "Line" || glyph.y.field !== "y" || !(data_source.length > 0)) { continue }
    const text = notes[name] ? `${name}: ${notes[name]}` : name
    found.set(name, {name, text, alpha: glyph.line_alpha.value, color: glyph.line_color.value, dash: glyph.line_dash.value ?? []})
  }
  const place = ({name}) => runs.findIndex(([, label]) => label === name)
  return [...found.values()].sort((one, other) => place(one) - place(other))
}

// The figure below its title and its legend, in one picture.
function picture(view, type, {title, marks, runs, notes}) {
  const {CanvasLayer} = Bokeh.require("core/util/canvas")
  const {width, height} = view.bbox, region = view.export(type)
  const layer = new CanvasLayer(type === "svg" ? "svg" : "canvas", true)
  const ink = view.model.below[0].axis_label_text_color
  const entries = [...curves(view.model, runs, notes), ...marks.map(([glyph, color, text]) => ({glyph, color: color || ink, text}))]
  const font = "12px Roboto, system-ui, sans-serif", {ctx} = layer
  ctx.font = font
  let x = MARGIN, row = 0
  for (const entry of entries) {
    const wide = SAMPLE + 6 + ctx.measureText(entry.text).width
    if (x > MARGIN && x + wide > width - MARGIN) { x = MARGIN; row += 1 }
    Object.assign(entry, {x, row})
    x += wide + ENTRY_GAP
  }
  const head = 30 + (entries.length ? LINE * (row + 1) : 0)
  layer.resize(width, height + head)
  layer.prepare()
  ctx.fillStyle = getComputedStyle(document.body).backgroundColor
  ctx.fillRect(-1, -1, width + 2, height + head + 2)
  ctx.textBaseline = "middle"
  ctx.fillStyle = ink
  ctx.font = "600 14px Roboto, system-ui, sans-serif"
  ctx.fillText(title, MARGIN, 16)
  ctx.font = font
  for (const {text, color, alpha, dash, glyph, x, row} of entries) {
    const y = 30 + LINE * row + LINE / 2
    if (glyph === undefined) {
      ctx.strokeStyle = color
      ctx.globalAlpha = alpha
      ctx.lineWidth = 2
      ctx.setLineDash(dash)
      ctx.beginPath()
      ctx.moveTo(x, y)
      ctx.lineTo(x + SAMPLE, y)
      ctx.stroke()
      ctx.globalAlpha = 1
      ctx.setLineDash([])
    } else {
      ctx.fillStyle = color
      ctx.fillText(glyph, x + SAMPLE / 2, y)
    }
    ctx.fillStyle = ink
    ctx.fillText(text, x + SAMPLE + 6, y)
  }
  layer.finish()
  ctx.drawImage(region.canvas, 0, head * layer.pixel_ratio)
  return layer.to_blob()
}

export function render({model}) {
  const send = (message) => model.send_msg(message)
  const choice = element("select", {"aria-label": "Runs to export", change: () => send({action: "choose", run: choice.value})})
  const files = element("div", {class: "files"}), pictures = element("div", {class: "pictures"})
  const again = element("div", {class: "again"}), notice = element("p", {role: "status"})
  const {root} = panel(DOWNLOAD, "Export", tip("export_panel.open"),
    () => send({action: "open"}), element("div", {class: "line"}, element("h2", {}, "Export"), choice), notice, files, pictures, again)

  async function draw_picture(id, title, marks, type) {
    const view = Bokeh.index.find_one_by_id(id)
    if (view === null) { return }
    const name = view.model.toolbar.tools.find((tool) => tool.filename)?.filename ?? "plot"
    save(`solverscope-${name}.${type}`, await picture(view, type, {title, marks, runs: model.runs, notes: model.notes}))
  }
  function draw() {
    const any = model.runs.length > 0
    choice.replaceChildren(...[["all", `All shown runs (${model.runs.length})`], ...model.runs].map(([key, label]) =>
      element("option", {value: key, selected: key === model.chosen}, label)))
    choice.hidden = !any
    for (const part of [files, pictures, again]) { part.hidden = !any }
    files.replaceChildren(element("h3", {}, "Files"),
      ...[...model.forms, ["html", "HTML page", tip("export_panel.html")]].map(
        ([form, name, title]) => button(name, () => send({action: "take", form}), {title})))
    pictures.replaceChildren(element("h3", {}, "Pictures"), ...model.plots.map(([id, title, marks]) =>
      element("div", {class: "plot"}, element("span", {}, title),
        ...["svg", "png"].map((type) => button(type.toUpperCase(), () => draw_picture(id, title, marks, type),
          called(tip("export_panel.picture", {title, type: type.toUpperCase()})))))))
    again.replaceChildren(...model.texts.flatMap(([name, text]) => {
      const shown = element("pre", {tabindex: "0"}, text)
      const copies = copying("Copy", () => text, shown, {title: tip("export_panel.copy", {name})})
      return [element("div", {class: "line"}, element("h3", {}, name), copies), shown]
    }))
    notice.textContent = model.notice
  }
  watch(model, ["runs", "chosen", "plots", "texts", "notice"], draw)
  model.on("msg:custom", ({file, data}) => save(file, new Blob([data])))
  return root
}
