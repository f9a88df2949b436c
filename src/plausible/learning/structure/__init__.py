"""Learning which arcs a network has, from nothing but counts."""

from plausible.learning.structure.ensemble import Average, Ensemble, Joined
from plausible.learning.structure.exact import exact
from plausible.learning.structure.gaps import structural_em
from plausible.learning.structure.ges import ges
from plausible.learning.structure.hill import hill_climb, tabu
from plausible.learning.structure.k2 import k2
from plausible.learning.structure.knowledge import Knowledge
from plausible.learning.structure.methods import METHODS, learn_structure
from plausible.learning.structure.orders import order_mcmc
from plausible.learning.structure.pc import pc
from plausible.learning.structure.resampling import bootstrap
from plausible.learning.structure.scorers import score_graph
from plausible.learning.structure.scores import SCORES
from plausible.learning.structure.search import Progress, Structure
from plausible.learning.structure.trees import chow_liu, tan

__all__ = [
    "METHODS",
    "SCORES",
    "Average",
    "Ensemble",
    "Joined",
    "Knowledge",
    "Progress",
    "Structure",
    "bootstrap",
    "chow_liu",
    "exact",
    "ges",
    "hill_climb",
    "k2",
    "learn_structure",
    "order_mcmc",
    "pc",
    "score_graph",
    "structural_em",
    "tabu",
    "tan",
]
