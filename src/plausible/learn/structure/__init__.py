"""Learning which arcs a network has, from nothing but counts."""

from plausible.learn.structure.exact import exact
from plausible.learn.structure.ges import ges
from plausible.learn.structure.hill import hill_climb, tabu
from plausible.learn.structure.k2 import k2
from plausible.learn.structure.knowledge import Knowledge
from plausible.learn.structure.methods import METHODS, learn_structure
from plausible.learn.structure.pc import pc
from plausible.learn.structure.scores import SCORES, score_graph
from plausible.learn.structure.search import Progress, Structure
from plausible.learn.structure.trees import chow_liu, tan

__all__ = [
    "METHODS",
    "SCORES",
    "Knowledge",
    "Progress",
    "Structure",
    "chow_liu",
    "exact",
    "ges",
    "hill_climb",
    "k2",
    "learn_structure",
    "pc",
    "score_graph",
    "tabu",
    "tan",
]
