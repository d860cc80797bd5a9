/*
package = "bokeh"
upstream = """\
BokehJS goes on reading the message that was cut, and builds the page again without the arrays beside its models \
(https://github.com/bokeh/bokeh/issues/15347)."""
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
