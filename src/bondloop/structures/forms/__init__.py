"""Structures as bond graphs and systems: in fields, as a network, by their modes; devices between them."""

from bondloop.structures.forms.attached import attach, attach_bar
from bondloop.structures.forms.modal_form import modal_form
from bondloop.structures.forms.modal_system import modal_system
from bondloop.structures.forms.structure_model import StructureModel, field_form, network_form

__all__ = [
    "StructureModel",
    "attach",
    "attach_bar",
    "field_form",
    "modal_form",
    "modal_system",
    "network_form",
]
