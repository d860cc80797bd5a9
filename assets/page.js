// Below the name of a weight of pixels (of the class "pixel-label", with the shape of the picture as data-shape) stands
// their picture, or above it at the lower edge of the page, while the pointer is on it.
{
  const picture = element("img", {alt: "", class: "pixels"})
  const LOOKS = {position: "fixed", zIndex: 2000, pointerEvents: "none", padding: "6px", border: "1px solid #8888", borderRadius: "4px"}
  let before = null
  // of "mouseover" nothing is heard here where the pointer goes from one part of a component to another
  addEventListener("mousemove", (event) => {
    const [on] = event.composedPath()
    if (on === before) { return }
    before = on
    const address = on.classList?.contains("pixel-label") ? pictureOf(on.textContent, on.dataset.shape.split(" ")) : ""
    if (!address) { picture.remove(); return }
    const {left, top, bottom} = on.getBoundingClientRect(), low = bottom > 0.8 * innerHeight
    picture.src = address
    Object.assign(picture.style, LOOKS, {
      left: `${left}px`, top: low ? "" : `${bottom + 4}px`, bottom: low ? `${innerHeight - top + 4}px` : "",
      background: getComputedStyle(document.body).backgroundColor,
    })
    document.body.append(picture)
  })
}

// What part of a plot its visitor has zoomed in on, which the browser alone knows: told to the server by the tags of the
// ranges, so that those who follow see that part too.
eachPlot((model) => {
  for (const range of [model.x_range, model.y_range]) {
    range.change.connect(() => {
      const zoomed = range.have_updated_interactively ? [range.start, range.end] : []
      if (zoomed.length !== range.tags.length || zoomed.some((end, k) => end !== range.tags[k])) { range.tags = zoomed }
    })
  }
})
