"""How large the site shows pictures: narrow figures at the scale of those as wide as the text."""

# ruff: noqa: INP001 - a script, no part of a package

import struct
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

INCH = 120
"""Pixels of the page for an inch of a figure: a figure of seven inches is as wide as the text."""
METRE = 39.37
"""Inches of it, as PNG writes its resolution."""


def inches(picture: bytes) -> float | None:
    r"""Return the width of a PNG; None where it does not say.

    >>> head = b"\x89PNG....\0\0\0\rIHDR" + struct.pack(">I", 760) + b"...."
    >>> round(inches(head + b"pHYs" + struct.pack(">IIB", 7874, 7874, 1)), 2), inches(head)
    (3.8, None)
    """
    at = picture.find(b"pHYs", 0, 4096)
    if picture[:4] != b"\x89PNG" or at < 0:
        return None
    across, _, metric = struct.unpack(">IIB", picture[at + 4 : at + 13])
    width = struct.unpack(">I", picture[16:20])[0]
    return float(width * METRE / across) if across and metric else None


class OneScale(SphinxPostTransform):
    """Gives every picture its width, so that letters are of one size from figure to figure."""

    default_priority = 400

    def run(self, **_options: Any) -> None:
        """Look at every picture that has no width."""
        for image in self.document.findall(nodes.image):
            path = Path(self.env.srcdir) / image["uri"]
            if "width" not in image and path.suffix == ".png" and path.is_file():
                width = inches(path.read_bytes())
                if width is not None:
                    image["width"] = f"{width * INCH:.0f}px"
