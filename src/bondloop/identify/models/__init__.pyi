from bondloop.identify.models.bond_graph_fit import BondGraphFit as BondGraphFit
from bondloop.identify.models.bond_graph_fit import fit_bond_graph as fit_bond_graph
from bondloop.identify.models.specimen_fit import SpecimenFit as SpecimenFit
from bondloop.identify.models.specimen_fit import fit_specimen as fit_specimen
from bondloop.identify.models.specimen_ranking import SpecimenRanking as SpecimenRanking
from bondloop.identify.models.specimen_ranking import Validation as Validation
from bondloop.identify.models.specimen_ranking import leave_out as leave_out
from bondloop.identify.models.specimen_ranking import rank_specimens as rank_specimens
