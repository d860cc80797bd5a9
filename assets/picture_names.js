// Which pixel of pictures side by side, their first rows on top, is below the pointer.
const {data} = source
const k = data.x.findIndex((left, k) => special_vars.x >= left && special_vars.x < left + data.dw[k])
if (k < 0) return ""
return `pixel (${Math.ceil(data.dh[k] - special_vars.y)}, ${Math.floor(special_vars.x - data.x[k]) + 1})`
