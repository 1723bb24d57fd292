from bondloop.control.junction.identified_junction import AdaptiveVirtualJunction as AdaptiveVirtualJunction
from bondloop.control.junction.identified_junction import (
    SensitivityVirtualJunction as SensitivityVirtualJunction,
)
from bondloop.control.junction.observed_junction import ObservedVirtualJunction as ObservedVirtualJunction
from bondloop.control.junction.virtual_junction import VirtualJunction as VirtualJunction
