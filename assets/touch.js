// A finger on a plot scrolls the page: it would zoom in by a box else. A press on a tool of the plot makes it zoom again.
if (matchMedia("(pointer: coarse)").matches) {
  eachPlot(({model}) => {
    for (const tool of model.toolbar.tools) {
      if (tool.active && tool.event_types?.includes("pan")) { tool.active = false }
    }
  })
}
