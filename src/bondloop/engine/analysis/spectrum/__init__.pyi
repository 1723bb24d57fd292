from bondloop.engine.analysis.spectrum.linear_step import OneStep as OneStep
from bondloop.engine.analysis.spectrum.linear_step import Values as Values
from bondloop.engine.analysis.spectrum.linear_step import collection_paused as collection_paused
from bondloop.engine.analysis.spectrum.linear_step import one_step as one_step
from bondloop.engine.analysis.spectrum.linear_step import within as within
from bondloop.engine.analysis.spectrum.slopes import Bend as Bend
from bondloop.engine.analysis.spectrum.walk import Point as Point
