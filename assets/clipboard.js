// Puts a text into the clipboard.
async function copy(text) {
  if (navigator.clipboard) { return navigator.clipboard.writeText(text) }
  // a page that is not served to this machine has no clipboard of its own
  const area = document.createElement("textarea")
  area.value = text
  document.body.append(area)
  area.select()
  const done = document.execCommand("copy")
  area.remove()
  if (!done) { throw new Error("the browser does not allow it") }
}
