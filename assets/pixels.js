// A picture of the pixels that the name of a weight tells of, in a grid of this shape (height, width), as the address of
// an image; nothing where it tells of none.
const pictureOf = (name, shape) => {
  const pixels = [...name.matchAll(/pixel \((\d+), (\d+)\)/g)]
  if (!shape || pixels.length === 0) { return "" }
  const [height, width] = shape, side = Math.max(2, Math.floor(64 / Math.max(height, width)))
  const rows = Array.from({length: height + 1}, (_, k) => `M0 ${k}H${width}`).join("")
  const columns = Array.from({length: width + 1}, (_, k) => `M${k} 0V${height}`).join("")
  const marks = pixels.map(([, row, column]) => `<rect x="${column - 1}" y="${row - 1}" width="1" height="1" fill="#0072B2"/>`)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${side * width + 1}" height="${side * height + 1}" ` +
    `viewBox="-0.1 -0.1 ${width + 0.2} ${height + 0.2}">${marks.join("")}` +
    `<path d="${rows}${columns}" stroke="#888" stroke-opacity="0.6" stroke-width="${1 / side}"/></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
// A name for a tooltip: the name itself, or the address of its picture.
const nameOrPicture = (name, format, shape) => format === "picture" ? pictureOf(name, shape) : name
