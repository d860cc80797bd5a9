// A table of texts.
export function render({model}) {
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
