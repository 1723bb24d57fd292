"""What is wrong with a figure, by the boxes of its texts as they are drawn."""

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

TOUCH = 1.0
"""Dots by which boxes may overlap: letters do not fill them."""


def texts(figure):
    """Every text that is seen, with its box in dots."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    ticks = {id(t): t for axes in figure.axes for t in _unseen_ticks(axes)}
    return [
        (text.get_text(), text.get_window_extent(canvas.get_renderer()))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in ticks
    ]


def _unseen_ticks(axes):
    """Labels of ticks beyond the limits, or switched off: they are there and are not drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            for label in (tick.label1, tick.label2):
                if not low - slack <= tick.get_loc() <= high + slack or not label.get_visible():
                    yield label


def faults(figure):
    """Texts outside of the page, and texts over each other, in words."""
    seen = texts(figure)
    page = figure.bbox
    out = [
        f"'{words}' is cut off"
        for words, box in seen
        if min(box.x0, box.y0) < -TOUCH or box.x1 > page.x1 + TOUCH or box.y1 > page.y1 + TOUCH
    ]
    for (one, a), (other, b) in combinations(seen, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > TOUCH and high > TOUCH:
            out.append(f"'{one}' and '{other}' overlap")
    return out
