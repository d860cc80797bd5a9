export function render({model}) {
  const root = element("div", {class: "fields"})
  const draw = () => redraw(root, model.fields.flatMap((data) => field(data, (name, value, more = {}) => model.send_msg({name, value, ...more}))))
  watch(model, ["fields"], draw)
  if (!model.title) { return root }
  return element("details", {}, element("summary", {}, model.title), root)
}
