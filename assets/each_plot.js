// Calls a function with the view of every plot once it is drawn for the first time.
function eachPlot(act) {
  const known = new WeakSet(), before = window.plotDrawn
  window.plotDrawn = (view) => { // it is called again when laid out anew
    before?.(view)
    if (!known.has(view.model)) {
      known.add(view.model)
      act(view)
    }
  }
}
