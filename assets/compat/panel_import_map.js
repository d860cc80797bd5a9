// Browsers read modules themselves, and no script imports by a bare name: the shim has no map to know.
importShim.addImportMap = () => {}
