// The cells of a heat map, for keys and for those who hear the page. The map is a picture: a ring in it is drawn
// around the cell that has the focus.
const STEPS = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity],
}
const RING = `position: absolute; pointer-events: none; box-sizing: border-box; border: 2px solid #fff; outline: 3px solid #111;
  border-radius: 2px; z-index: 3;`

export function render({model}) {
  const head = element("tr"), body = element("tbody")
  const grid = element("table", {role: "grid", "aria-label": "Runs of the sweep: problems down, solvers across; Enter opens a run"},
    element("thead", {}, head), body)
  let cells = [], names = "", at = [0, 0], ring = null

  const cell = ([row, column]) => cells[row]?.[column]
  // one cell alone is a stop of Tab
  function settle(wanted) {
    at = [model.rows, model.columns].map(({length}, axis) => Math.max(Math.min(wanted[axis], length - 1), 0))
    cells.forEach((row, r) => row.forEach((el, c) => { el.tabIndex = r === at[0] && c === at[1] ? 0 : -1 }))
  }
  function open([row, column]) {
    const found = model.cells[row]?.[column]
    if (found) { model.send_msg({key: found[0]}) }
  }
  function mark() {
    ring?.remove()
    ring = null
    const view = Bokeh.index.find_one_by_id(model.figure), home = view?.canvas_view?.shadow_el
    if (!home || cell(at) !== grid.getRootNode().activeElement) { return }
    const {x_scale, y_scale} = view.frame, [row, column] = at, low = model.rows.length - 1 - row
    const [left, right] = [x_scale.compute(column), x_scale.compute(column + 1)]
    const [bottom, top] = [y_scale.compute(low), y_scale.compute(low + 1)]
    ring = element("div", {class: "focused"})
    ring.style.cssText = `${RING} left: ${left}px; top: ${top}px; width: ${right - left}px; height: ${bottom - top}px`
    home.append(ring)
    ring.scrollIntoView({block: "nearest", inline: "nearest"})
  }

  grid.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) { return }
    const step = STEPS[event.key]
    if (step) { settle(at.map((k, axis) => k + step[axis])) }
    else if (event.key === "Enter" || event.key === " ") { if (!event.repeat) { open(at) } }
    else { return }
    event.preventDefault()
    cell(at)?.focus({preventScroll: true})
  })
  grid.addEventListener("focusout", () => { ring?.remove(); ring = null })

  function draw() {
    const focused = cells.flat().includes(grid.getRootNode().activeElement)
    const wanted = JSON.stringify([model.rows, model.columns])
    if (wanted !== names) {
      names = wanted
      head.replaceChildren(...["problem", ...model.columns].map((name) => element("th", {scope: "col"}, name)))
      cells = model.rows.map((_, r) => model.columns.map((_, c) => element("td", {
        role: "gridcell", click: () => open([r, c]), focus: () => { settle([r, c]); mark() },
      })))
      body.replaceChildren(...cells.map((row, r) => element("tr", {}, element("th", {scope: "row"}, model.rows[r]), ...row)))
    }
    cells.forEach((row, r) => row.forEach((el, c) => {
      const text = `${model.columns[c]} on ${model.rows[r]}: ${model.cells[r]?.[c]?.[1] ?? "no run"}`
      if (el.textContent !== text) { el.textContent = text }
    }))
    grid.hidden = cells.length === 0
    settle(at)
    if (focused) { cell(at)?.focus({preventScroll: true}); mark() }
  }
  const resized = new ResizeObserver(mark)
  resized.observe(document.documentElement)
  model.on("remove", () => { resized.disconnect(); ring?.remove() })
  watch(model, ["rows", "columns", "cells"], draw)
  return grid
}
