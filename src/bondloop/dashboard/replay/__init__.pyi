from bondloop.dashboard.replay.routes import Replay as Replay
from bondloop.dashboard.replay.run_table import RunTable as RunTable
