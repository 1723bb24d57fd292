"""Frozen dataclasses to and from TOML, JSON and attributes of HDF5; knows no class of a room.

A class or a function that a file may name is registered in a family by the room that defines it.
"""
