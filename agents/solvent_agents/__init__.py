"""Agents that play Solvent: scripted ones, one a file, and learned ones.

The learned ones are in ``solvent_agents.learned`` and need the extra ``agents``.
"""

from solvent_agents.agent import Agent, act_one
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes

__all__ = ["AGENTS", "Agent", "act_one", "episodes"]
