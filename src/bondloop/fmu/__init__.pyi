from bondloop.fmu.export import write_system_fmu as write_system_fmu
from bondloop.fmu.export import write_tick_fmu as write_tick_fmu
from bondloop.fmu.foreign import ForeignStep as ForeignStep
from bondloop.fmu.foreign import ForeignVariable as ForeignVariable
from bondloop.fmu.foreign import read_fmu as read_fmu
from bondloop.fmu.model_description import described as described
