"""Agents that play Solvent, one agent per file: scripts, planners, the exact solution, and learners.

The learned ones are in ``solvent_agents.learning`` and need the extra ``agents``.
"""

from solvent_agents.agent import Agent, act_one
from solvent_agents.registry import AGENTS, PLAYERS, YARDSTICKS, find_agent
from solvent_agents.rollout import episodes

__all__ = ["AGENTS", "PLAYERS", "YARDSTICKS", "Agent", "act_one", "episodes", "find_agent"]
