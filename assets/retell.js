// Runs once, when the document is ready. A component of React reads its properties when it is first drawn, and
// listens for changes a moment later: on a busy machine a change comes in between and is lost, so that a button
// stays grey for ever. What is told again costs nothing where it is known.
const TOLD = ["disabled", "options", "label"]
const EVERY = 2000 // milliseconds

function retell() {
  for (const document of Bokeh.documents)
    for (const { data } of document._all_models.values())
      if (data?.properties != null)
        for (const name of TOLD) data.properties[name]?.change.emit()
}

window.solverscopeRetells ??= setInterval(retell, EVERY)
