"""How things show themselves to people: HTML and figures in notebooks, short reprs, what is going on."""

from bondloop.display.brief import brief
from bondloop.display.progress import at_work, silent, telling

__all__ = ["at_work", "brief", "silent", "telling"]
