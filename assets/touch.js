// A finger on a plot scrolls the page: it would zoom in by a box else. A press on a tool of the plot makes it zoom again.
{
  const known = new WeakSet(), before = window.plotDrawn, coarse = matchMedia("(pointer: coarse)")
  window.plotDrawn = (view) => { // it is called again when laid out anew
    before?.(view)
    if (!coarse.matches || known.has(view.model)) { return }
    known.add(view.model)
    for (const tool of view.model.toolbar.tools) {
      if (tool.active && tool.event_types?.includes("pan")) { tool.active = false }
    }
  }
}
