from bondloop.check.ensemble.evidence import Ensemble as Ensemble
from bondloop.check.ensemble.evidence import Excitations as Excitations
from bondloop.check.ensemble.evidence import Twin as Twin
from bondloop.check.ensemble.evidence import ensemble as ensemble
from bondloop.check.ensemble.members import Kind as Kind
from bondloop.check.ensemble.members import Member as Member
from bondloop.check.ensemble.rehearsals import Sizes as Sizes
from bondloop.check.ensemble.share import Share as Share
