// Ticks of a logarithmic axis: powers of ten, with 2 and 5 between few decades, round steps within one.
const {start, end} = cb_data
if (!(0 < start && start < end)) { return [] }
const low = Math.log10(start), high = Math.log10(end), decades = high - low
const ticks = []
if (decades > 1) {
  const stride = Math.ceil(decades / 7)
  const between = decades > 3 ? [1] : decades > 1.7 ? [1, 3] : [1, 2, 5]
  for (let k = Math.floor(low); k <= high; k++) {
    if (k % stride !== 0) { continue }
    for (const m of between) { ticks.push(m * 10 ** k) }
  }
} else {
  const raw = (end - start) / 5, unit = 10 ** Math.floor(Math.log10(raw))
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw)
  for (let t = Math.ceil(start / step) * step; t <= end; t += step) { ticks.push(Number(t.toPrecision(6))) }
}
return ticks.filter((t) => t >= start && t <= end)
