"""Dynamics of structures: modes, responses over time and over frequency."""

from bondloop.structures.dynamics.history import History, time_history
from bondloop.structures.dynamics.modes import Modes, mac, modes
from bondloop.structures.dynamics.response import frequency_response

__all__ = ["History", "Modes", "frequency_response", "mac", "modes", "time_history"]
