// What is below the pointer in pictures side by side: of which output, and which row and column of the picture.
const column = Math.floor(special_vars.x / (width + gap)), row = Math.floor(-special_vars.y / (height + gap))
const output = names[row * across + column]
const x = Math.floor(special_vars.x - column * (width + gap)), y = Math.floor(-special_vars.y - row * (height + gap) - gap)
if (output === undefined || x >= width || y < 0) { return "" }
return `pixel (${y + 1}, ${x + 1}) for ${output}`
