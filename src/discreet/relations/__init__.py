"""Cells and the equations between them."""

from discreet.relations.build import build_system
from discreet.relations.filling import Filling
from discreet.relations.system import System

__all__ = ["Filling", "System", "build_system"]
