"""Learners: recipes, the labs as Stable-Baselines3 sees them, training, and policy files that can't hurt."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load, save
from stable_baselines3.common.monitor import Monitor

import solvent
from solvent import ENVIRONMENTS, LabEnv, ParamError
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.verbs import Verb
from solvent_agents import AGENTS, episodes
from solvent_agents.learning import learned
from solvent_agents.learning.class_target import ClassLessons
from solvent_agents.learning.learned import VALIDATION, LearnedAgent, train
from solvent_agents.learning.policies import CompoundNetwork, compound_columns
from solvent_agents.learning.policy_file import ABOUT, WEIGHTS, PolicyFileError
from solvent_agents.learning.recipe import ALGORITHMS, RECIPES, Recipe
from solvent_agents.learning.sb3 import WHILE_BLOCKED, LabVecEnv, Rewards
from solvent_agents.learning.shipped import SHIPPED, is_shipped_name, shipped_policies, shipped_policy

PARAMS = solvent.preset("default")
ROOT = Path(__file__).resolve().parents[2]
SHARED = {"n_envs": 8, "n_steps": 8, "gamma": 1.0, "policy_kwargs": {"width": 8, "value_width": 8}}
VALUES = {"n_envs": 4, "learning_starts": 50, "buffer_size": 500, "policy_kwargs": {"net_arch": [16]}}
SMALL: dict[str, dict[str, Any]] = {
    "A2C": SHARED,
    "DQN": VALUES,
    "MaskablePPO": {**SHARED, "batch_size": 64},
    "PPO": {**SHARED, "batch_size": 64},
    "QRDQN": VALUES,
    "RecurrentPPO": {
        "n_envs": 8,
        "n_steps": 8,
        "batch_size": 64,
        "policy_kwargs": {"lstm_hidden_size": 8, "net_arch": [8]},
    },
    "TRPO": {**SHARED, "batch_size": 64},
}


def recipe_of(algorithm: str = "PPO", **changes: Any) -> Recipe:
    return Recipe.from_mapping(
        {"algorithm": algorithm, "n_timesteps": 192, **SMALL[algorithm], **changes}, path="x"
    )


def train_and_keep(recipe: Recipe, params: Any, folder: Path) -> tuple[Any, Path]:
    """Train; return the learner as the training left it, and the path of its policy."""
    learners = []
    learn = ALGORITHMS[recipe.algorithm].learn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ALGORITHMS[recipe.algorithm],
            "learn",
            lambda self, *a, **k: learners.append(self) or learn(self, *a, **k),
        )
        path = train(recipe, params, seed=1, folder=folder, track=None)
    return learners[0], path


@pytest.fixture(scope="module")
def seen_labs() -> tuple[Any, Any]:
    """Observations and masks of labs in the middle of their episodes."""
    envs = LabVecEnv(PARAMS, 32)
    envs.seed(3)
    envs.reset()
    rng = np.random.default_rng(0)
    for _ in range(7):
        observations = envs.step(rng.integers(0, 154, 32))[0]
    return observations, envs.labs.action_masks()


# -- recipes -------------------------------------------------------------------------------------


def test_a_training_goes_on_with_an_earlier_policy(tmp_path: Path) -> None:
    first = train(recipe_of(n_timesteps=192), PARAMS, seed=3, folder=tmp_path / "a", track=None)
    steps: list[int] = []
    longer = train(
        recipe_of(n_timesteps=384, learning_rate=0.0), PARAMS, seed=3, folder=tmp_path / "b", track=None, start=first,
        on_progress=lambda done, _: steps.append(done),
    )  # fmt: skip
    assert (steps[0], steps[-1]) == (192, 384)
    assert longer.read_bytes() == first.read_bytes()  # nothing was learnt, so these are the earlier weights


def test_a_falling_rate_falls_on(tmp_path: Path) -> None:
    recipe = {"learning_rate": "lin_1e-3"}
    first = train(recipe_of(n_timesteps=192, **recipe), PARAMS, seed=3, folder=tmp_path / "a", track=None)
    rates: list[float] = []

    def noted(self: Any, name: str, value: Any, *_: Any, **__: Any) -> None:
        rates.extend([value] * (name == "train/learning_rate"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stable_baselines3.common.logger.Logger.record", noted)
        train(
            recipe_of(n_timesteps=768, **recipe),
            PARAMS,
            seed=3,
            folder=tmp_path / "b",
            track=None,
            start=first,
        )
    assert max(rates) < 0.75e-3


def test_a_training_that_goes_on_validates_at_the_same_steps(tmp_path: Path) -> None:
    """The earlier policy is validated first; nothing is learnt, so it is worth the same at every step."""
    validated: list[tuple[int, float]] = []
    recipe = {"evaluate_every": 128, "learning_rate": 0.0}
    first = train(recipe_of(n_timesteps=384, **recipe), PARAMS, seed=3, folder=tmp_path / "a", track=None)
    train(
        recipe_of(n_timesteps=640, **recipe), PARAMS, seed=3, folder=tmp_path / "b", track=None, start=first,
        on_validation=lambda *row: validated.append(row),
    )  # fmt: skip
    assert [steps for steps, _ in validated] == [384, 512, 640]
    assert len({earned for _, earned in validated}) == 1


def test_a_training_that_goes_on_keeps_the_earlier_policy_if_none_earns_more(tmp_path, monkeypatch):
    first = train(recipe_of(evaluate_every=128), PARAMS, seed=3, folder=tmp_path / "a", track=None)
    earned = iter([2.0, 1.0, 1.5])
    monkeypatch.setattr(learned, "episodes", lambda *_: {"return": np.array([next(earned)])})
    recipe = recipe_of(n_timesteps=320, evaluate_every=128)
    longer = train(recipe, PARAMS, seed=3, folder=tmp_path / "b", track=None, start=first)
    assert longer.read_bytes() == first.read_bytes()


IMPOSSIBLE = [
    ("algorithm", "PP0"),
    ("leraning_rate", 1e-3),
    ("n_timesteps", 0),
    ("learning_rate", "fast"),
    ("device", "gpu"),
    ("gamma", "lin_0.5"),
    ("rollout_buffer_class", "os.system"),
    ("env", "CartPole"),
    ("policy", "Mlp"),
    ("policy", "MlpLstmPolicy"),  # of RecurrentPPO alone
    ("policy_kwargs", {"widht": 3}),
    ("class_target", "guess"),
]


@pytest.mark.parametrize(("key", "value"), IMPOSSIBLE)
def test_an_impossible_recipe_names_its_key_and_what_is_allowed(key, value):
    with pytest.raises(ParamError, match=rf"^x\.{key}.*(allowed: |unknown key)") as error:
        Recipe.from_mapping({"algorithm": "PPO", "n_timesteps": 10, key: value}, path="x")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yml")), ids=lambda p: p.stem)
def test_recipe_files_survive_a_round_trip(path):
    names = {name.lower(): name for name in ALGORITHMS}
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")).values():
        recipe = Recipe.from_mapping({"algorithm": names.get(path.stem.replace("_", "")), **entry})
        assert recipe.to_mapping().items() >= entry.items()
        assert Recipe.from_mapping(recipe.to_mapping()) == recipe
        assert pickle.loads(pickle.dumps(recipe)) == recipe


def test_falling_rates_become_schedules():
    arguments = recipe_of(learning_rate="lin_3e-3", clip_range="lin_0.2", ent_coef="lin_0.1").arguments()
    assert arguments["learning_rate"](0.5) == pytest.approx(1.5e-3)
    assert arguments["clip_range"](1.0) == 0.2
    assert arguments["ent_coef"] == 0.1
    assert recipe_of(learning_rate="3e-4").arguments()["learning_rate"] == 3e-4  # as YAML reads it


def test_a_device_that_is_not_here_is_refused(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ParamError, match="device: got 'cuda', which this machine lacks; allowed: cpu"):
        train(recipe_of(device="cuda"), PARAMS, seed=0, folder=tmp_path)


def test_network_computes_on_its_device_alone(seen_labs, monkeypatch):
    """``meta`` stands for a GPU: it refuses operands from another device. It has no values to validate."""
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", False)
    recipe = recipe_of("PPO")
    cls, arguments = recipe.network(PARAMS)
    envs = LabVecEnv(PARAMS, 2)
    policy = cls(envs.observation_space, envs.action_space, lambda _left: 0.0, **arguments).to("meta")
    observations = torch.from_numpy(seen_labs[0]).to("meta")
    values, log_probs, entropy = policy.evaluate_actions(observations, torch.zeros(32, device="meta"))
    chosen = policy.get_distribution(observations).mode()
    assert {each.device.type for each in (values, log_probs, entropy, chosen)} == {"meta"}


# -- labs as Stable-Baselines3 sees them ---------------------------------------------------------


def test_ended_labs_tell_their_episode_and_show_the_next():
    envs = LabVecEnv(PARAMS, 3)
    envs.seed(5)
    envs.reset()
    rng, dones = np.random.default_rng(0), np.zeros(3, np.bool_)
    while not dones.any():
        observations, _, dones, infos = envs.step(rng.integers(0, 154, 3))
    finished = envs.take_finished()
    assert finished is not None
    assert envs.take_finished() is None
    for row, i in enumerate(np.flatnonzero(dones)):
        text = infos[i]["episode"]
        assert (text["r"], text["l"]) == (finished["return"][row], finished["length"][row])
        assert not infos[i].get("TimeLimit.truncated", False)
        assert (infos[i]["terminal_observation"] != observations[i]).any()
        assert (observations[i] == LabEnv(PARAMS).reset(seed=1)[0]).mean() > 0.9  # a fresh lab


def test_native_vector_is_monitored_for_sb3s_evaluations():
    envs = LabVecEnv(PARAMS, 3)
    assert envs.env_is_wrapped(Monitor) == [True] * 3
    assert envs.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False] * 3


def test_idling_costs_only_what_does_not_execute():
    params = solvent.preset("energy")
    free, priced = LabVecEnv(params, 32), LabVecEnv(params, 32, Rewards(idle_price=0.25))
    rng = np.random.default_rng(2)
    for envs in (free, priced):
        envs.seed(4)
        envs.reset()
    idle = executed = 0
    for _ in range(60):
        actions = rng.integers(0, free.action_space.n, 32)
        rewards = [envs.step(actions)[1] for envs in (free, priced)]
        waited = np.isin(free.labs.batch.steps["event"], [Event.REFUSED, Event.NOT_EXECUTED, Event.DEFERRED])
        np.testing.assert_allclose(rewards[0] - rewards[1], np.where(waited, 0.25, 0.0), atol=1e-6)
        idle, executed = idle + waited.sum(), executed + (~waited).sum()
    assert min(idle, executed) > 100


def test_debt_shocks_block_labs_and_pay_nothing():
    lab = solvent.preset("default")
    envs = LabVecEnv(lab, 32, Rewards(shaping_weight=0.0, debt_shocks=0.5))
    envs.seed(0)
    envs.reset()
    rest = np.full(32, int(np.flatnonzero(envs.labs.actions["verb"] == Verb.REST)[0]))
    params, seen = lab.debt, 0
    for _ in range(5):
        before = envs.labs.batch.labs["debt"].copy()
        envs.step_async(rest)
        observations, earned, _, _ = envs.step_wait()
        grown = np.minimum(params.interest * before, np.maximum(params.interest_cap - before, 0.0))
        assert earned == pytest.approx(-grown, abs=1e-6)  # the shaping charges interest, not the shock
        after = envs.labs.batch.labs["debt"]
        struck = after > before + grown + 1e-9
        seen += struck.sum()
        assert (after[struck] > params.threshold).all()
        assert (after <= 2 * params.threshold + 1e-9).all()
        margin = envs.labs.observation_fields.index("debt_margin")
        assert ((observations[:, margin] < 0) == (after > params.threshold)).all()
    assert seen > 30


def test_while_blocked_counts_refusals_calibrations_and_rests():
    """Bold claims, so that debt soon blocks: what is then neither calibration nor rest is refused."""
    envs = LabVecEnv(PARAMS, 64)
    envs.seed(3)
    envs.reset()
    rng = np.random.default_rng(0)
    table = action_table(PARAMS)
    bold = np.flatnonzero(
        (table["claim"] == max(PARAMS.vocabulary.claims)) | (table["verb"] <= Verb.BASELINE)
    )
    for _ in range(2 * PARAMS.budget.heartbeats):
        envs.step(rng.choice(bold, 64))
    finished = envs.take_finished()
    tried, calibrated, rested = (int(finished[name].sum()) for name in WHILE_BLOCKED)
    assert len(finished["return"]) >= 64
    assert min(calibrated, rested) > 0
    refused = int(finished["refusals"]["epistemic_debt_action_blocked"].sum())
    assert tried - calibrated - rested == refused > 100


# -- the network shared by compounds -------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "class_width"),
    [("default", None), ("lab", None), ("tiny", None), ("data", None), ("data", 16)],
)
def test_relabelling_compounds_relabels_logits(level, class_width):
    params = solvent.preset(level)
    torch.manual_seed(0)
    network = CompoundNetwork(params, 16, 16, class_width)
    shared, own = compound_columns(params)
    rng = np.random.default_rng(1)
    observation = rng.random((1, len(shared) + sum(map(len, own))), dtype=np.float32)
    order = rng.permutation(len(own))
    relabelled = observation.copy()
    for m, columns in enumerate(own):
        relabelled[:, own[order[m]]] = observation[:, columns]
    with torch.no_grad():
        before, after = (network(torch.as_tensor(o)) for o in (observation, relabelled))
    rows = [str(row) for row in action_table(params)]
    twins = action_table(params).copy()
    twins["compound"] = np.where(twins["compound"] >= 0, order[twins["compound"]], twins["compound"])
    places = [rows.index(str(row)) for row in twins]
    assert torch.allclose(before[0], after[0][:, places], atol=1e-5)
    assert torch.allclose(before[1], after[1], atol=1e-5)


@pytest.fixture(params=["PPO", "MaskablePPO"])
def shared_policy(request):
    """A policy network before its training."""
    cls, arguments = recipe_of(request.param).network(PARAMS)
    spaces = LabVecEnv(PARAMS, 1)
    return cls(spaces.observation_space, spaces.action_space, lambda _: 0.0, **arguments)


ACTIONS = action_table(PARAMS)
ALL_SCREENS = ACTIONS["verb"] == Verb.SCREEN
CHANCES = np.where(ALL_SCREENS, 0.01, np.where(ACTIONS["verb"] == Verb.REST, 0.3, 1e-6))
"""Rest is the most probable action; screens are the most probable verb, and among them compound 2."""
CHANCES[ALL_SCREENS & (ACTIONS["compound"] == 2)] = 0.012
CHANCES[ALL_SCREENS & (ACTIONS["compound"] == 5) & (ACTIONS["claim"] == 1.0)] = 0.018
CHANCES[ALL_SCREENS & (ACTIONS["compound"] == 2) & (ACTIONS["claim"] == 0.5)] = 0.013
LOGITS = torch.from_numpy(np.log(CHANCES)).float()


def test_training_starts_with_equally_probable_verbs(shared_policy):
    start = shared_policy.get_distribution(torch.rand(3, *shared_policy.observation_space.shape))
    probs = start.distribution.probs.detach()
    of_verbs = [probs[:, ACTIONS["verb"] == verb].sum(dim=1) for verb in np.unique(ACTIONS["verb"])]
    assert torch.allclose(torch.stack(of_verbs), torch.tensor(1 / len(of_verbs)), atol=0.02)
    assert torch.allclose(start.entropy(), torch.zeros(3), atol=1e-3)  # less the divergence from that start


def test_the_mode_is_that_of_the_most_probable_verb_and_compound(shared_policy):
    chosen = ACTIONS[shared_policy.action_dist.proba_distribution(LOGITS[None]).mode().item()]
    assert (chosen["verb"], chosen["compound"], chosen["claim"]) == (Verb.SCREEN, 2, 0.5)


def test_actions_are_drawn_with_their_probabilities(shared_policy):
    drawn = shared_policy.action_dist.proba_distribution(LOGITS.expand(20_000, -1)).sample()
    counted = torch.bincount(drawn, minlength=len(CHANCES)) / len(drawn)
    np.testing.assert_allclose(counted, CHANCES / CHANCES.sum(), atol=0.015)  # four deviations of 0.3


# -- a class head, where a finding names its class -----------------------------------------------

DATA = solvent.preset("data")
NAMED = action_table(DATA)
FINDINGS = NAMED["verb"] == Verb.PUBLISH_PUBLIC
CLASS_HEAD = {"width": 8, "value_width": 8, "class_width": 8}
CLASS_CHANCES = np.array([0.3, 0.02, 0.08, 0.4, 0.05, 0.05, 0.06, 0.04])
NAMED_CHANCES = CLASS_CHANCES**3 / (CLASS_CHANCES**3).sum()


def class_recipe(algorithm: str = "PPO", **changes: Any) -> Recipe:
    return recipe_of(algorithm, policy_kwargs=CLASS_HEAD, **{"class_target": "truth", **changes})


@pytest.fixture(params=["PPO", "MaskablePPO"])
def class_policy(request):
    """An untrained policy whose class head says CLASS_CHANCES of every compound, whatever it sees."""
    cls, arguments = class_recipe(request.param).network(DATA)
    spaces = LabVecEnv(DATA, 1)
    policy = cls(spaces.observation_space, spaces.action_space, lambda _: 0.0, **arguments)
    head = policy.mlp_extractor.classes.head
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.from_numpy(CLASS_CHANCES).log())
        for other in (policy.mlp_extractor.without, policy.mlp_extractor.each):
            other.weight.zero_()
    return policy


def distribution_of(policy: Any) -> Any:
    return policy.get_distribution(torch.rand(2, *policy.observation_space.shape))


def test_a_finding_is_chosen_and_then_its_class_is_drawn_from_the_class_head(class_policy):
    """One of seven verbs, one of 24 compounds and confidences, and a class, sharper than the belief."""
    probs = distribution_of(class_policy).distribution.probs.detach()
    chances = NAMED_CHANCES[NAMED["potency"][FINDINGS]] / 7 / 24
    np.testing.assert_allclose(probs[:, FINDINGS], np.tile(chances, (2, 1)), rtol=1e-4)


def test_a_belief_that_is_sure_costs_no_entropy(class_policy):
    assert torch.allclose(distribution_of(class_policy).entropy(), torch.zeros(2), atol=1e-4)


def test_entropy_counts_what_a_finding_is_about(class_policy):
    """Publishing one compound at one confidence alone: log 7 below the prior for the verb, log 24 for the rest."""
    one = FINDINGS & (NAMED["compound"] == 2) & (NAMED["confidence"] == 0.75)
    logits = torch.full((1, len(NAMED)), -1e4)
    logits[0, one] = torch.from_numpy(CLASS_CHANCES).log().float()
    entropy = class_policy.action_dist.proba_distribution(logits).entropy()
    assert entropy.item() == pytest.approx(-np.log(7 * 24), abs=1e-3)


def test_the_mode_of_a_finding_names_the_most_probable_class(class_policy):
    bias = class_policy.mlp_extractor.each.bias
    with torch.no_grad():
        bias[-2] += 5.0  # findings at 0.75
    chosen = NAMED[distribution_of(class_policy).mode()]
    assert chosen["verb"].tolist() == [Verb.PUBLISH_PUBLIC] * 2
    assert chosen["potency"].tolist() == [3, 3]
    assert chosen["confidence"].tolist() == [0.75, 0.75]


@pytest.mark.parametrize("target", ["truth", "posterior"])
def test_lessons_are_what_was_seen_and_the_target_then(target):
    envs = LabVecEnv(DATA, 4, class_target=target)
    envs.seed(3)
    seen = [envs.reset()]
    rng = np.random.default_rng(0)
    wanted = []
    for _ in range(60):  # labs end meanwhile
        labs = envs.labs.batch.labs
        wanted.append(labs["marginal"].copy() if target == "posterior" else np.eye(8)[labs["potency"]])
        seen.append(envs.step(rng.integers(0, len(NAMED), 4))[0])
    observations, targets = envs.take_lessons()
    np.testing.assert_array_equal(observations, np.concatenate(seen[:-1]))
    np.testing.assert_allclose(targets, np.concatenate(wanted), atol=1e-6)


def test_the_target_changes_nothing_that_a_policy_sees():
    granted, bare = LabVecEnv(DATA, 8, class_target="truth"), LabVecEnv(DATA, 8)
    rng = np.random.default_rng(1)
    for envs in (granted, bare):
        envs.seed(2)
    np.testing.assert_array_equal(granted.reset(), bare.reset())
    for _ in range(60):
        actions = rng.integers(0, len(NAMED), 8)
        with_target, without = granted.step(actions), bare.step(actions)
        np.testing.assert_array_equal(with_target[0], without[0])
        np.testing.assert_array_equal(with_target[1], without[1])
        assert [info.keys() for info in with_target[3]] == [info.keys() for info in without[3]]


def test_only_a_training_is_granted_the_target(tmp_path, monkeypatch):
    path = train(class_recipe(), DATA, seed=0, folder=tmp_path, track=None)

    def refused(*_: Any) -> None:
        raise AssertionError("an evaluation asked for the target")

    monkeypatch.setattr(LabVecEnv, "take_lessons", refused)
    monkeypatch.setattr(LabVecEnv, "_class_probabilities", refused)
    episodes(LearnedAgent.load(path, DATA), DATA, range(10_000, 10_004))


@pytest.mark.parametrize("algorithm", ["A2C", "MaskablePPO", "PPO", "TRPO"])
def test_the_class_head_learns_from_its_target(algorithm, tmp_path, monkeypatch):
    taught = []
    teach = ClassLessons._teach
    monkeypatch.setattr(ClassLessons, "_teach", lambda self: taught.append(teach(self)) or taught[-1])
    recipe = class_recipe(algorithm, n_timesteps=32 * 64, n_envs=32, class_target="posterior")
    train(recipe, DATA, seed=0, folder=tmp_path, track=None)
    assert len(taught) >= 3
    assert taught[-1] < taught[0]


def test_the_class_head_learns_on_where_a_training_goes_on(tmp_path, monkeypatch):
    first = train(class_recipe(n_timesteps=64), DATA, seed=0, folder=tmp_path / "a", track=None)
    lessons = []
    teach = ClassLessons._teach
    monkeypatch.setattr(
        ClassLessons, "_teach", lambda self: lessons.append(self.num_timesteps) or teach(self)
    )
    train(class_recipe(), DATA, seed=0, folder=tmp_path / "b", track=None, start=first)
    assert lessons == [128]


def test_a_loaded_class_head_acts_as_the_trained_one(tmp_path):
    learner, path = train_and_keep(class_recipe(), DATA, tmp_path)
    observations = np.random.default_rng(0).random((64, *learner.observation_space.shape), np.float32)
    wanted, _ = learner.predict(observations, deterministic=True)
    agent = LearnedAgent.load(path, DATA)
    np.testing.assert_array_equal(agent.act(observations, np.ones((64, len(NAMED)), np.int8)), wanted)


@pytest.mark.parametrize(
    "changes", [{"class_target": "truth"}, {"policy_kwargs": CLASS_HEAD}], ids=["no head", "no target"]
)
def test_a_class_head_and_its_target_come_together(changes):
    with pytest.raises(ParamError, match=r"^x\.class_target: got .*; allowed: .*class_width"):
        recipe_of(**changes)


def test_a_class_head_is_refused_where_findings_name_no_class(tmp_path):
    with pytest.raises(ParamError, match=r"^class_width: .* publication\.names_class is true"):
        train(class_recipe(), PARAMS, seed=0, folder=tmp_path, track=None)


# -- training ------------------------------------------------------------------------------------


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_training_and_loading_leave_the_number_of_threads_alone(tmp_path):
    path = train(recipe_of("PPO"), PARAMS, seed=1, folder=tmp_path, track=None)
    assert torch.get_num_threads() == 2
    LearnedAgent.load(path, PARAMS)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_loaded_policy_plays_as_the_trained_one(algorithm, tmp_path, seen_labs):
    learner, path = train_and_keep(recipe_of(algorithm), PARAMS, tmp_path)
    assert path == tmp_path / WEIGHTS
    assert sorted(file.name for file in tmp_path.iterdir()) == [ABOUT, WEIGHTS]
    observations, masks = seen_labs
    masked = {"action_masks": masks} if algorithm == "MaskablePPO" else {}
    wanted, _ = learner.predict(observations, deterministic=True, **masked)
    before = torch.get_rng_state()
    agent = LearnedAgent.load(path, PARAMS)
    assert torch.equal(torch.get_rng_state(), before)  # loading consumes nobody's random numbers
    assert agent.name == algorithm.lower()
    chosen = agent.act(observations, masks)
    np.testing.assert_array_equal(chosen, wanted)
    if algorithm == "MaskablePPO":
        assert masks[np.arange(len(chosen)), chosen].all()
        assert not agent.act(observations, np.eye(masks.shape[1], dtype=np.int8)[[0] * len(masks)]).any()


def test_training_depends_on_its_seed_and_not_on_tensorboard(tmp_path):
    reports: dict[str, list[Any]] = {}
    weights = {}
    for name, seed, logs in (("a", 3, "tensorboard"), ("b", 3, None), ("c", 4, None)):
        seen = reports[name] = []
        path = train(
            recipe_of(n_timesteps=8 * 8 * 8), PARAMS, seed=seed, folder=tmp_path / name, track=logs,
            on_progress=lambda done, total, seen=seen: seen.append((done, total)),
            on_episodes=lambda done, columns, seen=seen: seen.append((done, columns["return"].tolist())),
        )  # fmt: skip
        weights[name] = path.read_bytes()
    assert weights["a"] == weights["b"] != weights["c"]
    assert reports["a"] == reports["b"]
    assert (reports["a"][0], reports["a"][-1]) == ((0, 512), (512, 512))
    assert sum(len(returns) for _, returns in reports["a"] if isinstance(returns, list)) >= 8
    assert [path.suffix for path in (tmp_path / "a" / "tensorboard").rglob("events*")]
    assert not (tmp_path / "b" / "tensorboard").exists()


@pytest.mark.slow
def test_weights_and_biases_gets_the_numbers_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    path = train(recipe_of(n_timesteps=1024), PARAMS, seed=3, folder=tmp_path / "a", track="wandb")
    simple = train(recipe_of(n_timesteps=1024), PARAMS, seed=3, folder=tmp_path / "b", track=None)
    assert path.read_bytes() == simple.read_bytes()
    (kept,) = (tmp_path / "a" / "wandb").glob("offline-run-*/*.wandb")
    content = kept.read_bytes()
    assert all(name in content for name in (b"lab/return", b"train/loss", b"n_timesteps"))


@pytest.mark.slow
def test_best_validated_policy_is_kept(tmp_path):
    recipe = recipe_of(n_timesteps=4096, evaluate_every=1024)
    path = train(recipe, PARAMS, seed=3, folder=tmp_path / "best", track=None)
    last = train(recipe_of(n_timesteps=4096), PARAMS, seed=3, folder=tmp_path / "last", track=None)
    validated = json.loads((tmp_path / "best" / "validation.json").read_text())
    assert [one["steps"] for one in validated] == [1024, 2048, 3072, 4096]
    agents = [LearnedAgent.load(of, PARAMS) for of in (path, last)]
    best, final = (episodes(agent, PARAMS, VALIDATION)["return"].mean() for agent in agents)
    assert best == pytest.approx(max(one["return"] for one in validated))
    assert final == pytest.approx(validated[-1]["return"])


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_stopped_training_leaves_no_policy(algorithm, tmp_path):
    calls = iter(range(1000))
    stopped = train(
        recipe_of(algorithm), PARAMS, seed=0, folder=tmp_path, track=None,
        should_stop=lambda: next(calls) >= 10,
    )  # fmt: skip
    assert stopped is None
    assert next(calls) == 11
    assert list(tmp_path.iterdir()) == []


def test_falling_entropy_bonus_reaches_the_learner(tmp_path, monkeypatch):
    """Three rollouts: the whole of it, two thirds, one third."""
    seen = []
    once = ALGORITHMS["PPO"].train
    monkeypatch.setattr(ALGORITHMS["PPO"], "train", lambda self: (seen.append(self.ent_coef), once(self)))
    train(recipe_of(ent_coef="lin_0.3"), PARAMS, seed=0, folder=tmp_path, track=None)
    assert seen == pytest.approx([0.3, 0.2, 0.1])


def test_arguments_that_the_algorithm_refuses_are_one_line(tmp_path):
    with pytest.raises(ParamError, match=r"^PPO: ") as error:
        train(recipe_of(n_envs=1, n_steps=1), PARAMS, seed=0, folder=tmp_path, track=None)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


# -- a policy with a memory ----------------------------------------------------------------------

LAST_PLATE = solvent.LabParams.from_mapping({"observation": {"belief": "plate"}}, base=solvent.preset("data"))
SEEDS = range(10_000, 10_008)


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory) -> LearnedAgent:
    """A policy that has learnt a little."""
    folder = tmp_path_factory.mktemp("recurrent")
    recipe = recipe_of("RecurrentPPO", learning_rate=0.02, ent_coef=0.1, n_timesteps=1024)
    train(recipe, LAST_PLATE, seed=0, folder=folder, track=None)
    return LearnedAgent.load(folder, LAST_PLATE)


def acts(agent: LearnedAgent, observations: Any, times: int = 6) -> Any:
    """What an agent does, from the start of an episode, in labs that always look alike."""
    agent.start()
    return np.array([agent.act(observations, np.ones((len(observations), 1))) for _ in range(times)])


@pytest.fixture(scope="module")
def looks() -> Any:
    return np.random.default_rng(0).uniform(-1.0, 1.0, (8, 66)).astype(np.float32)


def test_what_a_recurrent_policy_does_depends_on_what_it_saw(recurrent, looks):
    first, *later = acts(recurrent, looks)
    assert (later != first).any()


def test_a_recurrent_policy_forgets_the_episode_before(recurrent, looks):
    np.testing.assert_array_equal(acts(recurrent, looks), acts(recurrent, looks))


def test_a_recurrent_policy_acts_alike_in_one_lab_and_in_eight(recurrent, looks):
    alone = [acts(recurrent, looks[i : i + 1]) for i in range(8)]
    np.testing.assert_array_equal(acts(recurrent, looks), np.concatenate(alone, axis=1))


def test_episodes_of_a_recurrent_policy_depend_on_no_batch(recurrent):
    complete, split = (episodes(recurrent, LAST_PLATE, SEEDS, batch=batch, trace=True) for batch in (8, 3))
    np.testing.assert_array_equal(complete["trace"]["action"], split["trace"]["action"])


def test_a_loaded_recurrent_policy_remembers_as_the_trained_one(tmp_path, looks):
    learner, path = train_and_keep(recipe_of("RecurrentPPO"), LAST_PLATE, tmp_path)
    trained = LearnedAgent(learner.policy, "trained")
    np.testing.assert_array_equal(acts(LearnedAgent.load(path, LAST_PLATE), looks), acts(trained, looks))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("policy", "MlpPolicy"),
        ("class_target", "truth"),
        ("policy_kwargs.class_width", 8),
        ("policy_kwargs.lstm_hidden_size", 4096),
        ("policy_kwargs.n_lstm_layers", 100),
    ],
)
def test_a_recurrent_recipe_refuses_what_its_policy_lacks(key, value):
    group, _, size = key.rpartition(".")
    with pytest.raises(ParamError, match=rf"^x\.{key}: .*allowed: ") as error:
        recipe_of("RecurrentPPO", **({group: {size: value}} if group else {key: value}))
    assert "\n" not in str(error.value)


# -- policy files --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    train(recipe_of(n_timesteps=64), PARAMS, seed=0, folder=folder, track=None)
    return folder


def test_a_policy_has_the_version_of_the_source(good):
    assert json.loads((good / ABOUT).read_text())["packages"]["solvent-gym"] == solvent.__version__


@pytest.fixture
def policy(good, tmp_path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "policy"))


def refuse(path: Path, words: str, params: Any = PARAMS) -> None:
    with pytest.raises(PolicyFileError, match=words) as error:
        LearnedAgent.load(path, params)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 450


def test_a_policy_is_found_by_folder_weights_or_description(good, seen_labs):
    actions = [
        LearnedAgent.load(path, PARAMS).act(*seen_labs) for path in (good, good / WEIGHTS, good / ABOUT)
    ]
    assert all((a == actions[0]).all() for a in actions)


@pytest.mark.parametrize("name", [WEIGHTS, ABOUT])
def test_missing_truncated_and_foreign_files_are_one_line(policy, name, tmp_path):
    mark = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (mark,)

    content = (policy / name).read_bytes()
    half = content[: len(content) // 2]
    for broken in (b"", half, content[:-1], pickle.dumps(Trap()), b"[" * 100_000, b"{}"):
        (policy / name).write_bytes(broken)
        refuse(policy, f"{name}: ")
    assert not mark.exists()
    (policy / name).unlink()
    refuse(policy, f"{name}: No such file or directory; allowed: {WEIGHTS} with {ABOUT} beside it")
    (policy / name).symlink_to("/dev/zero")
    refuse(policy, f"{name}: not a regular file")


ODD = {
    "format": {"format": "pickle"},
    "layout": {"layout": {"observations": 3}},
    "recipe.policy": {"recipe": {"policy": "os.system"}},
    "recipe.policy_kwargs.width": {"recipe": {"policy_kwargs": {"width": 10**9}}},
    "features_extractor_class": {"recipe": {"policy_kwargs": {"features_extractor_class": "os.system"}}},
    "not the weights of this network": {"recipe": {"policy_kwargs": {"width": 16}}},
}


@pytest.mark.parametrize(("words", "changes"), ODD.items())
def test_odd_descriptions_are_one_line(policy, words, changes):
    about = json.loads((policy / ABOUT).read_text())
    recipe = {**about["recipe"], **changes.get("recipe", {})}
    (policy / ABOUT).write_text(json.dumps({**about, **changes, "recipe": recipe}))
    refuse(policy, words)


def test_odd_weights_are_one_line(policy):
    weights = load((policy / WEIGHTS).read_bytes())
    name = min(weights)
    for words, odd in {
        f"{name}: missing": {key: value for key, value in weights.items() if key != name},
        "a{200}": {**weights, "a" * 100_000: torch.zeros(1)},
        r"\\x1b": {**weights, "\x1b[2J\n": torch.zeros(1)},
        "not the weights of this network": {**weights, name: weights[name][:-1].contiguous()},
        f"{name}: .*not finite": {**weights, name: torch.full_like(weights[name], float("nan"))},
    }.items():
        (policy / WEIGHTS).write_bytes(save(odd))
        refuse(policy, words)


def test_other_numbers_fit_and_other_shapes_do_not(good):
    refuse(good, "trained on other labs", solvent.preset("energy"))
    claims = PARAMS.vocabulary.replace(claims=(0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0))
    refuse(good, "trained on other labs", PARAMS.replace(vocabulary=claims))
    names = PARAMS.assay.replace(compounds=tuple(f"compound {m}" for m in range(8)))
    debt = PARAMS.debt.replace(threshold=1.0)
    LearnedAgent.load(good, PARAMS.replace(assay=names, debt=debt))


# -- shipped policies ----------------------------------------------------------------------------


def test_every_level_ships_a_policy():
    assert set(shipped_policies()) == {f"ppo:{env_id}" for env_id in ENVIRONMENTS}
    assert {path.name for path in SHIPPED.rglob("*") if path.is_file()} == {WEIGHTS, ABOUT}


def test_names_of_shipped_policies_are_told_from_agents_and_files():
    assert all(is_shipped_name(name) for name in shipped_policies())
    assert not any(is_shipped_name(name) for name in (*AGENTS, "runs/ppo/seed-0/policy.safetensors"))


def test_an_unknown_shipped_policy_gets_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'ppo:Solvent/Debt-v0'"):
        shipped_policy("pop:Solvent/Debt-v0")
