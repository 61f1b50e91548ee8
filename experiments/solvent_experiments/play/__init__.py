"""`solvent play`: a lab in the terminal that tells its rules when they first matter, hints, and debriefs."""

from solvent_experiments.play.episode import play_episode

__all__ = ["play_episode"]
