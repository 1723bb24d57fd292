from bondloop.realtime.programs.build import rig_program as rig_program
from bondloop.realtime.programs.export import export_c as export_c
