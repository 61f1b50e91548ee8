"""Careers: does debt that persists change what is learnt for the last project?

This is the source's first open question, *does debt persist across sessions?*, as a task: on ``Solvent/Frontier-v0``
debt and what is due outlive a project, and a wrong finding comes back as debt in the next one. PPO learns from scratch
where debt is enforced and where it is only tracked. Each measure is taken per project, and its change from the first
project to the third is compared.
"""

from __future__ import annotations

from solvent_experiments.studies.study import PPO, Compare, Play, Study, learner

FRONTIER = "Solvent/Frontier-v0"
LONG = {**PPO, "n_timesteps": 3_000_000, "expected_score": False}
UNENFORCED = {"debt": {"enforced": False}}
ENFORCED = learner("frontier", "Frontier", train=LONG, env=FRONTIER)
TRACKED = learner("frontier_tracked", "Frontier, tracked", train=LONG, env=FRONTIER, params=UNENFORCED)
ENFORCED_PLAY = Play("ppo", {}, FRONTIER, arm=ENFORCED, record="projects")
TRACKED_PLAY = Play("ppo_tracked", UNENFORCED, FRONTIER, arm=TRACKED, record="projects")
SCRIPTED = Play("honest", {}, FRONTIER, script="honest", record="projects")
MEASURES = (
    ("overclaimed", "bits overclaimed", "bits", -1),
    ("calibrations", "calibrations", "calibrations", 1),
    ("accepted", "findings", "findings", -1),
    ("blocked", "heartbeats blocked", "heartbeats", 0),
    ("refused_by_debt", "refusals by debt", "refusals", 0),
)
"""Column, its words, unit, and the sign that is expected of the change."""

STUDY = Study(
    title="What persistent debt teaches",
    claim="Where debt outlives a project, a learner overclaims less, calibrates more and publishes less in the third "
    "project than in the first, beyond what it does where debt is only tracked.",
    compares=(
        *(
            Compare(f"PPO: change of {words}, enforced minus tracked", f"{unit} per project", ENFORCED_PLAY,
                    f"{column}_change", TRACKED_PLAY, expected=sign)
            for column, words, unit, sign in MEASURES
            if sign
        ),
        *(
            Compare(f"{label}: change of {words}", f"{unit} per project", play, f"{column}_change")
            for label, play in (("PPO, enforced", ENFORCED_PLAY), ("honest script", SCRIPTED))
            for column, words, unit, _ in MEASURES
        ),
    ),
    rows={"PPO, enforced": ENFORCED_PLAY, "PPO, only tracked": TRACKED_PLAY, "honest script": SCRIPTED},
    columns=tuple(f"{name}_{project}" for name, *_ in MEASURES for project in (1, 2, 3)),
    notes=(
        "The change of a measure is the third project's minus the first's.",
        "A heartbeat counts as blocked if it begins with debt above the threshold, enforced or not.",
    ),
)  # fmt: skip
