// Numbers on an axis: thin spaces in thousands, powers of ten where the number would be long.
const size = Math.abs(tick)
if (size === 0) { return "0" }
if (size < 1e-3 || size >= 1e6) {
  const [mantissa, exponent] = tick.toExponential(2).split("e")
  const raised = [...String(Number(exponent))].map((c) => c === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[Number(c)]).join("")
  const factor = String(Number(mantissa))
  return factor === "1" ? `10${raised}` : `${factor}\u00b710${raised}`
}
const [whole, decimals] = String(Number(tick.toPrecision(5))).split(".")
const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole
return decimals ? `${grouped}.${decimals}` : grouped
