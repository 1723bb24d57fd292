from bondloop.dashboard.server import Absence as Absence
from bondloop.dashboard.server import PagePolicy as PagePolicy
from bondloop.dashboard.server import Settings as Settings
from bondloop.dashboard.server import Subject as Subject
from bondloop.dashboard.server import serve as serve
