// Runs Bokeh, Panel and Material UI from their packed scripts, in a notebook's page without a network.
// SCRIPTS: base64 of gzipped scripts, in their order; MODULES: the same of modules, by the address that Panel
// asks for; VERSION: that of Bokeh.
const load = async () => {
  const root = window
  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text()
  }
  const [scripts, modules] = await Promise.all([
    Promise.all(SCRIPTS.map(unpack)),
    Promise.all(Object.entries(MODULES).map(async ([address, packed]) => [address, await unpack(packed)])),
  ])
  // loaders of modules, as RequireJS, would take what is meant for the page
  const hidden = ["define", "module", "exports", "require"].filter((name) => root[name] !== undefined)
  const kept = hidden.map((name) => root[name])
  hidden.forEach((name) => { root[name] = undefined })
  root.esmsInitOptions = {shimMode: true, ...root.esmsInitOptions}
  root.Bokeh = undefined
  for (const script of scripts) {
    const element = document.createElement("script")
    element.textContent = script
    document.head.append(element)
  }
  hidden.forEach((name, k) => { root[name] = kept[k] })
  const imports = modules.map(([address, code]) => {
    return [address, URL.createObjectURL(new Blob([code], {type: "text/javascript"}))]
  })
  root.importShim.addImportMap({imports: Object.fromEntries(imports)})
}
// once in a page, however many cells say it: what is drawn belongs to the library that drew it
window.solverscope_loaded ??= {}
window.solverscope_loaded[VERSION] ??= load()
