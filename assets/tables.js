// Lines of a table that a click on a heading sorts, once upwards and once downwards, and a field that filters them.
function numberOf(text) {
  const plain = String(text).replaceAll("\u202f", "").replaceAll("−", "-")
  return /^-?\d/.test(plain) ? parseFloat(plain) : NaN
}

// What is not known comes last either way.
function inOrder(one, other, sign) {
  const [a, b] = [one, other].map(numberOf), missing = (one === "–") - (other === "–")
  if (missing) { return missing }
  return sign * (Number.isNaN(a - b) ? String(one).localeCompare(String(other), [], {numeric: true}) : a - b)
}

function sorting(draw) {
  const heads = new Map()
  let by = null, sign = 1
  function head(key, text, name = "") {
    const press = button(text, () => {
      [by, sign] = by !== key ? [key, 1] : sign > 0 ? [key, -1] : [null, 1]
      for (const [other, one] of heads) {
        one.setAttribute("aria-sort", other !== by ? "none" : sign > 0 ? "ascending" : "descending")
      }
      draw()
    }, {class: "sort", "aria-label": `Sort by ${text}`})
    const cell = element("th", {class: name, scope: "col", "aria-label": text, "aria-sort": "none"}, press)
    heads.set(key, cell)
    return cell
  }
  const sorted = (lines, valueOf) => by === null ? lines :
    lines.map((line) => [valueOf(line, by), line]).sort(([a], [b]) => inOrder(a, b, sign)).map(([, line]) => line)
  return {head, sorted}
}

// Lines that have all words of the field somewhere in their texts.
function filtering(label, draw) {
  const field = element("input", {type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", input: draw})
  const words = () => field.value.toLowerCase().split(/\s+/).filter(Boolean)
  const filtered = (lines, textOf) => lines.filter((line) => words().every((word) => textOf(line).toLowerCase().includes(word)))
  return {field, filtered}
}

// A table of texts.
function sortedTable({model}) {
  const order = sorting(draw), body = element("tbody"), top = element("tr")
  const root = element("table", {class: "texts"}, element("thead", {}, top), body)
  const drawHeads = () => top.replaceChildren(...model.heads.map((text, k) => order.head(k, text)))
  function draw() {
    body.replaceChildren(...order.sorted(model.rows, (row, k) => row[k]).map((row) =>
      element("tr", {}, ...row.map((text) => element("td", {}, text)))))
  }
  watch(model, ["heads"], drawHeads)
  watch(model, ["rows"], draw)
  return root
}
