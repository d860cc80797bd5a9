// Brings a plot in a notebook's cell up to date without an answer to its kernel, which may be busy.
// ROOT: id of the plot's root; VERSION: that of Bokeh; CHANGES: [id of a model, property, value], of all that has
// changed since the plot was shown (PART "base", of number BASE), or since that base ("recent"). So some may be
// left out, and the last be applied again.
const plots = window.solverscope_plots ??= new Map()
const plot = plots.get(ROOT) ?? {base: {number: 0, models: new Map()}, recent: {number: 0, changes: []}, sent: 0}
plots.set(ROOT, plot)

const mapped = (value, each) => {
  if (value === null || typeof value !== "object") return value
  if (Array.isArray(value)) return value.map((one) => mapped(one, each))
  if (typeof value.id === "string" && (value.type ?? "object") === "object") return each(value)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, each)]))
}
// adds changes to models by id: {head: type and name if it may have to be made, values: of its properties, with
// models in these by their ids alone}
const add = (models, changes) => {
  const own = new Set()
  const model = (id) => {
    const {head, values} = models.get(id) ?? {head: null, values: new Map()}
    if (!own.has(id)) models.set(id, {head, values: new Map(values)})
    own.add(id)
    return models.get(id)
  }
  const by_id = ({id, attributes, ...head}) => {
    if (head.type === "object") model(id).head = head
    Object.entries(attributes ?? {}).forEach(([name, value]) => put(id, name, value))
    return {id}
  }
  const put = (id, name, value) => model(id).values.set(name, mapped(value, by_id))
  changes.forEach((change) => put(...change))
  return models
}
const apply = (shown, models, applied) => {
  const before = new Set(shown._all_models.keys())
  const known = new Set(before)
  const made = ({id}) => {
    const {head, values} = models.get(id) ?? {}
    if (known.has(id) || !head) return {id}
    known.add(id)
    const attributes = [...values].map(([name, value]) => [name, mapped(value, made)])
    return {...head, id, attributes: Object.fromEntries(attributes)}
  }
  const events = []
  for (const [id, {values}] of models) {
    for (const [name, value] of values) {
      const key = `${id} ${name}`
      const had = applied.get(key)
      if (had === value) continue
      applied.set(key, value)
      if (before.has(id) && JSON.stringify(had) !== JSON.stringify(value)) {
        events.push({kind: "ModelChanged", model: {id}, attr: name, new: mapped(value, made)})
      }
    }
  }
  if (events.length) shown.apply_json_patch({events})
}
const bring_up_to_date = () => {
  const libraries = [window.Bokeh, ...(window.Bokeh?.versions?.values() ?? [])]
  const library = libraries.find((one) => one?.version === VERSION)
  for (const shown of library?.documents ?? []) {
    if (shown.get_model_by_id(ROOT) === null) continue
    const at = shown.solverscope_at ??= {sent: 0, applied: new Map()}
    if (at.sent === plot.sent) continue
    at.sent = plot.sent
    const {base, recent} = plot
    apply(shown, add(new Map(base.models), recent.number === base.number ? recent.changes : []), at.applied)
  }
}
if (PART === "base") plot.base = {number: BASE, models: add(new Map(), CHANGES)}
else plot.recent = {number: BASE, changes: CHANGES}
plot.sent += 1
// a saved notebook runs this before it draws the plot
clearInterval(plot.timer)
const end = Date.now() + 60_000
plot.timer = setInterval(() => {
  bring_up_to_date()
  if (Date.now() > end) clearInterval(plot.timer)
}, 100)
bring_up_to_date()
