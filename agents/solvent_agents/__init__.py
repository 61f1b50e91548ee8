"""Agents that play Solvent: scripted ones, one a file, and learned ones (``solvent_agents.learned``, needs the extra ``agents``)."""

from solvent_agents.agent import Agent, act_one

__all__ = ["Agent", "act_one"]
