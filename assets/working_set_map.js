// Of the line of the working-set map below the pointer: whose it is ("names"), and when they left and came back ("moves").
const {data} = source
const image = data.image[0]
const [rows, columns] = image.shape
const k = Math.floor(special_vars.y / data.dh[0] * rows)
if (k < 0 || k >= rows) return ""
if (what === "names") return nameOrPicture(data.names[0][k], format, data.shape[0])
const width = data.dw[0] / columns
const said = []
let inside = true
for (let c = 0; c * width <= data.until[0]; c++) {
  const state = image[k * columns + c]
  if (state === unseen || !out.includes(state) === inside) continue
  inside = !inside
  said.push(`${inside ? "back" : "left"} at ${c * width}${width > 1 ? `–${(c + 1) * width - 1}` : ""}`)
}
if (said.length === 0) return "never left"
return (said.length > most ? "… " : "") + said.slice(-most).join(", ")
