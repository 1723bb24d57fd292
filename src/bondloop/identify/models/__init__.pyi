from bondloop.identify.models.bond_graph_fit import BondGraphFit as BondGraphFit
from bondloop.identify.models.bond_graph_fit import fit_bond_graph as fit_bond_graph
