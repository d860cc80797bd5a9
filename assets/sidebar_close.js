// Closes the sidebar where it lies over the page and its header; style sheets show it there alone.
export function render({model}) {
  const [{data: frame}] = model.document.roots()
  const close = button(icon("M19 6.4 17.6 5 12 10.6 6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12z"), () => { frame.sidebar_open = false })
  close.append("Close settings")
  return close
}
