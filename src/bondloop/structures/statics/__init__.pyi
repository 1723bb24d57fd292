from bondloop.structures.statics.pushover_analysis import Pushover as Pushover
from bondloop.structures.statics.pushover_analysis import Yielding as Yielding
from bondloop.structures.statics.pushover_analysis import pushover as pushover
from bondloop.structures.statics.static_analysis import static as static
