// Names for the pointer on pictures of W. The row (of the column "features") or the column ("outputs") below it.
function rowName({x, y}, {data}, column, format) {
  const run = data.x.findIndex((left, k) => x >= left && x <= left + data.dw[k])
  if (run < 0) { return "" }
  const names = data[column][run]
  const share = column === "outputs" ? (x - data.x[run]) / data.dw[run] : y / data.dh[run]
  return nameOrPicture(names[Math.floor(share * names.length)] ?? "", format, data.shape[run])
}

// The pixel of pictures side by side, their first rows on top.
function pixelName({x, y}, {data}) {
  const k = data.x.findIndex((left, k) => x >= left && x < left + data.dw[k])
  return k < 0 ? "" : `pixel (${Math.ceil(data.dh[k] - y)}, ${Math.floor(x - data.x[k]) + 1})`
}
