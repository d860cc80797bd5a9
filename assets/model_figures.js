// Names for the pointer on a model. A pixel of pictures side by side: of which output, and its row and column.
function pixelName({x, y}, {names, width, height, gap, across}) {
  const column = Math.floor(x / (width + gap)), row = Math.floor(-y / (height + gap))
  const output = names[row * across + column]
  const left = Math.floor(x - column * (width + gap)), top = Math.floor(-y - row * (height + gap) - gap)
  if (output === undefined || left >= width || top < 0) { return "" }
  return `pixel (${top + 1}, ${left + 1}) for ${output}`
}

// A cell of the matrix of transitions: from the label of its row to that of its column. Of the rows behind those of all
// columns the first comes from a begin state, and the second goes to an end state.
function transitionName({x, y}, {names, columns}) {
  const [row, column] = [Math.floor(y), Math.floor(x)]
  const ends = [names[row] ?? "", names[column] ?? ""]
  return (row > columns ? ends.reverse() : ends).join(" → ")
}
