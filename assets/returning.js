// Remembers, while its tab is open, which page is left, and tells the page that is loaded in its place.
const LEFT = "solverscope-left"

export function render({model}) {
  let left = {}
  try {
    left = JSON.parse(sessionStorage.getItem(LEFT)) ?? {}
    sessionStorage.removeItem(LEFT)
  } catch { /* storage is forbidden: nothing is remembered */ }
  const came = performance.getEntriesByType("navigation")[0]?.name
  model.send_msg({action: "arrived", ...(left.address === came ? {key: left.key, runs: left.runs} : {})})
  window.onpagehide = () => {
    try {
      sessionStorage.setItem(LEFT, JSON.stringify({key: model.key, runs: model.runs, address: location.href}))
    } catch { /* as above */ }
    navigator.sendBeacon(`${location.pathname.replace(/\/$/, "")}/left`, model.key)
  }
  return document.createElement("span")
}
