from bondloop.check.rules.rule import Rule as Rule
from bondloop.check.rules.table import RULES as RULES
from bondloop.check.rules.table import accepted as accepted
from bondloop.check.rules.table import findings as findings
from bondloop.check.rules.table import rule_named as rule_named
