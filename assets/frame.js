// What the server cannot know of the browser, before the page is drawn: a first visit may wish dark; and the sidebar is
// closed where it lies over the page, which Material UI has it do below this width.
const narrow = matchMedia("(max-width: 599.95px)")

function fitToBrowser({model}) {
  const {document: page} = model, [{data: frame}] = page.roots()
  const dark_theme = document.documentElement.dataset.theme === "dark"
  for (const {data} of page.all_models) {
    if (data?.properties?.dark_theme) { data.setv({dark_theme}, {sync: data === frame}) }
  }
  const close = () => { if (narrow.matches) { frame.sidebar_open = false } }
  narrow.addEventListener("change", close)
  close()
}

function nothing() { return document.createElement("span") }

// Closes the sidebar where it lies over the page and its header; style sheets show it there alone.
function sidebarClose({model}) {
  const [{data: frame}] = model.document.roots()
  const close = button(icon("M19 6.4 17.6 5 12 10.6 6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12z"), () => { frame.sidebar_open = false })
  close.append("Close settings")
  return close
}
