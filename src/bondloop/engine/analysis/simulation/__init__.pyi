from bondloop.engine.analysis.simulation.inputs import InputValue as InputValue
from bondloop.engine.analysis.simulation.inputs import checked_column as checked_column
from bondloop.engine.analysis.simulation.settling import Key as Key
from bondloop.engine.analysis.simulation.settling import starting_states as starting_states
from bondloop.engine.analysis.simulation.simulation import simulate as simulate
from bondloop.engine.analysis.simulation.trajectory import Trajectory as Trajectory
