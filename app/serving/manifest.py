"""The web app manifest, which lets browsers install the page as an application, and its icon."""

from __future__ import annotations

import json

from tornado.web import RequestHandler

from solverscope.app.ui import ASSETS

MANIFEST_PATH, ICON_PATH = "/manifest.webmanifest", "/icon.svg"

#: Addresses are relative to the manifest's own, which is below the page's.
MANIFEST = {
    "name": "Solverscope",
    "short_name": "Solverscope",
    "description": "Watch convex solvers shrink, search and converge",
    "id": "solverscope",
    "scope": "../",
    "display": "standalone",
    "theme_color": "#1A2027",
    "background_color": "#FFFFFF",
    "icons": [{"src": ICON_PATH.removeprefix("/"), "sizes": "any", "type": "image/svg+xml"}],
}


class ManifestHandler(RequestHandler):
    """The handler that returns the manifest."""

    def get(self) -> None:
        page = self.request.path.removesuffix(MANIFEST_PATH).rpartition("/")[2]
        self.set_header("Cache-Control", "no-cache")
        self.set_header("Content-Type", "application/manifest+json")
        self.finish(json.dumps(MANIFEST | {"start_url": f"../{page}"}))


class IconHandler(RequestHandler):
    """The handler that returns the icon."""

    def get(self) -> None:
        self.set_header("Content-Type", "image/svg+xml")
        self.finish((ASSETS / "favicon.svg").read_bytes())


#: The handlers by their path below a page's.
MANIFEST_HANDLERS = {MANIFEST_PATH: ManifestHandler, ICON_PATH: IconHandler}
