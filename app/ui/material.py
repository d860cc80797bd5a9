"""The Material UI theme of the page."""

from __future__ import annotations

#: Pixels that a rem has in ordinary type: Material UI's type is 0.875 of them, and is 13 pixels high here.
REM = 13 / 0.875

#: What Material UI's parts are to those who do not see them, where Panel does not say it: the title is the
#: page's first heading and the space below the header none, a menu's choices are options of a list, a tooltip
#: describes a control and does not name it, and the bar in the header and the sidebar have names.
COMPONENT_DEFAULTS = {
    "MuiTypography": {"defaultProps": {"variantMapping": {"h3": "h1", "h5": "div"}}},
    "MuiMenuItem": {"defaultProps": {"role": "option"}},
    "MuiTooltip": {"defaultProps": {"describeChild": True}},
    "MuiLinearProgress": {"defaultProps": {"aria-label": "The page is at work"}},
    "MuiDrawer": {"defaultProps": {"slotProps": {"paper": {"aria-label": "Settings"}}}},
}


def mui(mode: str) -> dict:
    """Return the Material UI theme: a single accent colour and plain surfaces."""
    dark = mode == "dark"
    return {
        "chart_style": "standard",
        "palette": {
            "primary": {"main": "#7DB8E8" if dark else "#0B5C94"},
            "background": {
                "default": "#121416" if dark else "#FFFFFF",
                "paper": "#121416" if dark else "#FFFFFF",
            },
        },
        "typography": {"fontSize": 13, "button": {"textTransform": "none"}},
        "shape": {"borderRadius": 6},
        "components": {
            "MuiAppBar": {
                "styleOverrides": {
                    "root": {
                        "backgroundColor": "#1D2429",
                        "backgroundImage": "none",
                        "color": "#FFFFFF",
                        "boxShadow": "none",
                    }
                }
            },
            "MuiToolbar": {"styleOverrides": {"root": {"minHeight": "48px !important"}}},
            **COMPONENT_DEFAULTS,
        },
    }
