/*
package = "bokeh"
upstream = """\
BokehJS goes on reading the message that was cut, and builds the page again without the arrays beside its models \
(https://github.com/bokeh/bokeh/issues/15347)."""
report = '''
# After a reconnect, BokehJS goes on reading a message that was cut

## What is wrong

1. `ClientConnection._receiver` is made once. If a connection is cut between the fragments of a message, the receiver
   waits for the rest of that message when `connect()` opens the next socket: the first fragment of the next message is
   taken for it, and the connection is closed with a protocol error, or hangs.
2. Until 3.9, `_repull_session_doc` calls `document.replace_with_json(doc_json)` without the `buffers` that came with
   it, so that arrays of the document are missing. 3.10 passes them.

#15347 is about the second. There is no way to find the connection of a page from outside either.

## Smallest example

```python
import numpy as np
from bokeh.io import curdoc
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

source = ColumnDataSource({"x": np.arange(1e6), "y": np.random.rand(1_000_000)})
plot = figure(output_backend="webgl")
plot.scatter("x", "y", source=source)
curdoc().add_root(plot)
curdoc().add_periodic_callback(lambda: source.update(data={"x": np.arange(1e6), "y": np.random.rand(1_000_000)}), 300)
```

`bokeh serve example.py`, behind a proxy that closes the WebSocket now and then (or with a socket that is closed in the
developer tools while a message is on its way): the page reconnects and then stands still.

A remedy for the first: `this._receiver = new Receiver()` in `connect()`.

## Versions

bokeh 3.9.2 (Python 3.11) and bokeh 3.10.2 (Python 3.13), Chromium, Linux.
'''
without = "A page whose connection was cut is loaded anew, and one whose link is frozen does not say so."
knows = [
    "server/static/js/bokeh.js:ClientConnection.connect",
    "server/static/js/bokeh.js:ClientConnection._pull_doc_json",
    "server/static/js/bokeh.js:ClientConnection._repull_session_doc",
    "server/static/js/bokeh.js:ClientConnection._on_message",
]
digests = ["e3d9835db9d8b59b", "b4ae31a6c22ca0d1"]
*/
// A connection that was cut is taken up again: without the message that was cut, and with the arrays that come beside
// the models. The page's other scripts find the connection.
{
  const { ClientConnection } = Bokeh.require("client/connection")
  const { connect, _pull_doc_json } = ClientConnection.prototype
  ClientConnection.prototype.connect = function () {
    window.connection = new WeakRef(this)
    this._receiver = new this._receiver.constructor()
    return connect.call(this)
  }
  ClientConnection.prototype._pull_doc_json = async function () {
    const pulled = await _pull_doc_json.call(this), page = this.session?.document
    if (page) {
      page.replace_with_json = (json) => page.constructor.from_json(json, [], pulled.buffers).destructively_move(page)
    }
    return pulled
  }
  window.reconnects = true
}
