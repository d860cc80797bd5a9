// A connection that was cut is taken up again: without the message that was cut, and with the arrays that come beside
// the models.
{
  const { ClientConnection } = Bokeh.require("client/connection")
  const { connect, _pull_doc_json } = ClientConnection.prototype
  ClientConnection.prototype.connect = function () {
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
