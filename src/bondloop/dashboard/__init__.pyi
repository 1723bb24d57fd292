from bondloop.dashboard import replay as replay
from bondloop.dashboard.server import serve as serve
from bondloop.dashboard.settings import Absence as Absence
from bondloop.dashboard.settings import Settings as Settings
from bondloop.dashboard.settings import Subject as Subject
