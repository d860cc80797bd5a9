// What the row (of the column "features") or the column ("outputs") of a picture of W below the pointer is called.
const {data} = source
const run = data.x.findIndex((left, k) => special_vars.x >= left && special_vars.x <= left + data.dw[k])
if (run < 0) return ""
const names = data[column][run]
const share = column === "outputs" ? (special_vars.x - data.x[run]) / data.dw[run] : special_vars.y / data.dh[run]
return told(names[Math.floor(share * names.length)] ?? "", format, data.shape[run])
