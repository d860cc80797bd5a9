/*
package = "panel"
upstream = """\
Panel has es-module-shims read all modules before the browser does, for import maps (`shimMode`, \
https://github.com/holoviz/panel/pull/8408 serves it). No script here imports by a bare name."""
without = """\
The shim reads each module before the browser does: 0.2 s more of the browser's main thread, which has 1.1 s of \
work, until Run can be pressed."""
knows = ["dist/bundled/reactiveesm/es-module-shims@^1.10.0/dist/es-module-shims.min.js"]
digest = "df2bf4e1f2a20980"
*/
// Browsers read modules themselves, and no script imports by a bare name: the shim has no map to know.
importShim.addImportMap = () => {}
