"""A page's own address may hold an IPv6 address, or any other host with several colons."""

from __future__ import annotations

from typing import Any

from panel.io import location

from solverscope.app.compat.change import Change, in_place_of

CHANGE = Change(
    name=__name__,
    package="panel",
    upstream="`_get_location_params` splits a host at each colon, so that http://[::1]:5006/app is an error "
    "page. https://github.com/holoviz/panel/pull/7316 reads ::1 alone, and a Host has brackets.",
    without="A page opened at [::1] fails; localhost and 127.0.0.1 open it.",
    knows=(
        "panel.io.location:_get_location_params",
        "panel.io.location:Location.from_request",
    ),
    digest="d54aa5fa78eef44a",
)
#: A host that Panel reads correctly.
PLAIN = "localhost"


@CHANGE.once
def apply() -> None:
    """Make the change."""
    original = location._get_location_params

    def params(protocol: str | None, host: str | None, uri: str | None) -> dict[str, Any]:
        if not host or host.count(":") < 2:
            return original(protocol, host, uri)
        name, _, port = host.rpartition(":")
        if not port.isdigit():
            name, port = host, ""
        found = original(protocol, PLAIN, uri)
        found["href"] = found["href"].replace(f"//{PLAIN}", f"//{host}", 1)
        return found | {"hostname": name} | ({"port": port} if port else {})

    location._get_location_params = in_place_of(original, params)
