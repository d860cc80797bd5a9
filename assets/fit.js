// What the server cannot know of the browser, before the page is drawn: a first visit may wish dark; and the sidebar is
// closed where it lies over the page, which Material UI has it do below this width.
const narrow = matchMedia("(max-width: 599.95px)")

export function initialize({model}) {
  const {document: page} = model, [{data: frame}] = page.roots()
  const dark_theme = document.documentElement.dataset.theme === "dark"
  for (const {data} of page.all_models) {
    if (data?.properties?.dark_theme) { data.setv({dark_theme}, {sync: data === frame}) }
  }
  const close = () => { if (narrow.matches) { frame.sidebar_open = false } }
  narrow.addEventListener("change", close)
  close()
}

export function render() { return document.createElement("span") }
