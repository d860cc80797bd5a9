// Remembers, while its tab is open, the page that is left, and reports it to the page that is loaded in its place.
const LEFT = "solverscope-left"

export function render({model}) {
  let left = {}
  try {
    left = JSON.parse(sessionStorage.getItem(LEFT)) ?? {}
    sessionStorage.removeItem(LEFT)
  } catch { /* storage is forbidden: nothing is remembered */ }
  const came = performance.getEntriesByType("navigation")[0]?.name
  model.send_msg({action: "arrived", ...(left.address === came ? {key: left.key, runs: left.runs} : {})})
  // Back and Forward go to another address of this page, which is shown then. What the page writes on its way there
  // stands in the place of that address: an entry of its own would take away those that Forward leads to.
  let going = true
  const {pushState: push, replaceState: put} = Object.getPrototypeOf(history)
  history.pushState = (state, title, url) => {
    if (new URL(url, location.href).href !== location.href) { (going ? put : push).call(history, state, title, url) }
  }
  window.onpopstate = () => {
    going = true
    model.send_msg({action: "went", search: location.search})
  }
  model.on("msg:custom", ({there}) => { if (there) { going = false } })
  window.onpagehide = () => {
    try {
      sessionStorage.setItem(LEFT, JSON.stringify({key: model.key, runs: model.runs, address: location.href}))
    } catch { /* as above */ }
    navigator.sendBeacon(`${location.pathname.replace(/\/$/, "")}/left`, model.key)
  }
  return document.createElement("span")
}
