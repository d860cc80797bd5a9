// What the cell of a matrix below the pointer stands for: from its row to its column. Of the rows behind those
// of all columns the first comes from a begin state, and the second goes to an end state.
const [row, column] = [Math.floor(special_vars.y), Math.floor(special_vars.x)]
const ends = [names[row] ?? "", names[column] ?? ""]
return (row > columns ? ends.reverse() : ends).join(" → ")
