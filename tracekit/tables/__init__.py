"""From raw events to ops, launches, kernels, links, steps and the rest."""
