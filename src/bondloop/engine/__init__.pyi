from bondloop.engine import analysis as analysis
from bondloop.engine import codegen as codegen
from bondloop.engine import data as data
from bondloop.engine import ir as ir
from bondloop.engine import laws as laws
from bondloop.engine import passes as passes
from bondloop.engine.system import System as System
from bondloop.engine.system import system_from_matrices as system_from_matrices
