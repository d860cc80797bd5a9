// When the page is ready, when its connection to the server is lost, and when it is there again.
// cb_data is the event. What is drawn stays; what needs the server (.needs-server) waits.
const FORGOTTEN = "solverscope-forgotten"
const LOST = "There is no connection to the server. What is drawn stays, and this page comes back by itself: " +
  "its runs go on for two minutes, unless the server has ended."
const SILENT = "The server does not answer: what is shown may be old."
const BACK = "The server was restarted or has forgotten this page: the settings are as before."
// Milliseconds between two questions whether the server is there, after which it is said that no answer has come, and
// after which a connection that is silent while the server answers others is made anew.
const BEAT = 2000, PATIENCE = 5000, DEAD = 15000

function wait(lost) {
  for (const element of inside(document))
    if (element.classList.contains("needs-server")) {
      element.inert = lost
      element.style.filter = lost ? "opacity(0.4)" : ""
    }
}

function say(text, closeable) {
  document.getElementById("connection")?.remove()
  if (!text) return
  const style = "position:fixed;z-index:2000;bottom:72px;left:50%;transform:translateX(-50%);max-width:min(90vw,720px);" +
    "padding:8px 16px;border-radius:6px;background:#7A3B00;color:#fff;font:14px/20px Roboto,sans-serif;box-shadow:0 2px 8px #0006"
  const bar = element("div", {id: "connection", role: "alert", style}, text)
  if (closeable) {
    const plain = "margin-left:16px;font:inherit;color:inherit;background:none;border:0;text-decoration:underline;cursor:pointer"
    bar.append(button("Close", () => bar.remove(), {style: plain}))
  }
  document.body.append(bar)
}

// "yes" or "no": whether the server still has this page's session; "" while it does not answer
async function known(connection) {
  const address = connection.url.replace(/^ws/, "http").replace(/\/ws$/, "/known")
  try {
    const options = { cache: "no-store", signal: AbortSignal.timeout(2000) }
    const answer = await fetch(`${address}?session=${encodeURIComponent(connection.id)}`, options)
    return answer.ok ? (await answer.text()).trim() : answer.status === 404 ? "no" : ""
  } catch (error) {
    return ""
  }
}

// A link that is frozen is not closed, maybe for minutes: nothing comes, and nothing says so.
function listen() {
  let asked = 0, said = false
  const answered = (silent) => {
    asked = 0
    if (said && !silent) { say("", false) }
    said = false
  }
  setInterval(async () => {
    const connection = window.connection?.deref()
    if (!connection?.session || connection.socket?.readyState !== WebSocket.OPEN || document.hidden) { return }
    if (!asked) {
      asked = performance.now()
      connection.session.request_server_info().then(() => answered(false), () => answered(true))
      return
    }
    const question = asked, waited = performance.now() - asked
    if (waited > PATIENCE && !said) {
      said = true
      say(SILENT, false)
    }
    // not where the answer, late on a busy machine, has come meanwhile
    if (waited > DEAD && await known(connection) === "yes" && asked === question) { connection.socket?.close() }
  }, BEAT)
}

async function comeBack(event) {
  for (;;) {
    const connection = event.connection.deref()
    const answer = connection ? await known(connection) : "no"
    // a page that cannot take its connection up again (compat/bokeh_reconnect.js) is loaded anew
    if (answer === "yes" && window.reconnects) { return event.reconnect() } // what fails is lost anew, and told by another event
    if (answer) {
      sessionStorage.setItem(FORGOTTEN, "yes")
      return location.reload() // the address has the set-up
    }
    wait(true)
    say(LOST, false)
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

switch (cb_data.event_name) {
  case "document_ready":
    if (!window.listens) {
      window.listens = true
      listen()
    }
    if (sessionStorage.getItem(FORGOTTEN)) {
      sessionStorage.removeItem(FORGOTTEN)
      say(BACK, true)
    }
    break
  case "connection_lost":
    comeBack(cb_data)
    break
  case "client_reconnected":
    wait(false)
    say("", false)
}
