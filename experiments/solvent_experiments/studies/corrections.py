"""Lab: the effect of corrections on later findings.

After a wrong public finding the agent is given a correction, elements of its observation. In the arm *unread* these
elements stay 0 and nothing else differs. PPO learns from nothing. A finding is outrun by its words if adequacy would
have it reviewed or rejected.
"""

from __future__ import annotations

from solvent_experiments.studies.study import ENERGETIC, Arm, Compare, Play, Study

LAB = "Solvent/Lab-v0"
READ = Arm("lab", "Lab", ENERGETIC, LAB)
UNREAD = Arm("unread", "Lab, corrections unread", ENERGETIC, LAB, {"observation": {"corrections": False}})


def words(arm: Arm) -> Play:
    """Return the play that counts the findings of an arm's policies."""
    return Play(f"words_{arm.name}", arm.params, LAB, arm=arm, record="words", episodes=500)


STUDY = Study(
    title="Heeding corrections",
    claim="Where corrections can be read, a smaller share of the findings under a correction is outrun by its words "
    "than where they can't, and agents earn more.",
    compares=(
        Compare("outrun under a correction, read less unread", "share of findings", words(READ), "corrected_outrun",
                words(UNREAD), "corrected", -1, 0.02),
        Compare("outrun without one, read less unread", "share of findings", words(READ), "other_outrun",
                words(UNREAD), "other", 0, 0.02),
        Compare("return, read less unread", "bits", READ, "return", UNREAD, expected=1, matters=0.25, middle=True),
        Compare("incidents, read less unread", "findings per episode", READ, "incidents_high", UNREAD, matters=0.25),
    ),
    rows={"read": words(READ), "unread": words(UNREAD)},
    columns=("return", "corrected", "corrected_outrun", "other", "other_outrun", "incidents_high"),
    notes=("Findings under a correction follow an error, in both arms: compare the arms, not the kinds of findings.",),
)  # fmt: skip
