// What the cell of a matrix below the pointer stands for: from its row to its column.
return `${names[Math.floor(special_vars.y)] ?? ""} → ${names[Math.floor(special_vars.x)] ?? ""}`
