from bondloop.report.document import write_report as write_report
from bondloop.report.literature import cite as cite
from bondloop.report.playing import write_play as write_play
