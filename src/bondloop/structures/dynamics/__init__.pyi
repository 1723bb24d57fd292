from bondloop.structures.dynamics.history import History as History
from bondloop.structures.dynamics.history import time_history as time_history
from bondloop.structures.dynamics.modal_analysis import Modes as Modes
from bondloop.structures.dynamics.modal_analysis import mac as mac
from bondloop.structures.dynamics.modal_analysis import modes as modes
from bondloop.structures.dynamics.modal_step import mode_step as mode_step
from bondloop.structures.dynamics.response import frequency_response as frequency_response
