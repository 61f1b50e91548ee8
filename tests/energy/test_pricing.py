"""Prices of discovered tools: the source's table, labelled tools, and that no server talks its tools cheap."""

from __future__ import annotations

import csv
import json
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solvent import preset
from solvent.energy import CATEGORIES, energy_for_tool, energy_for_verb, pricing
from solvent.lab.mechanisms.energy import DIMENSIONS, VERB_NAMES, EnergyParams, PriceParams, base_cost
from tests.yardstick.instruments import tool as described

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
TAME = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


HERE = Path(__file__).parent
WORDS = tomllib.loads((Path(pricing.__file__).with_name("words.toml")).read_text(encoding="utf-8"))
RANK = {name: rank for rank, name in enumerate(CATEGORIES)}


def fields(*names, **more):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names} | more}


# -- the table ------------------------------------------------------------------------------------


def test_the_sources_table():
    table = {
        name: (line.low, line.high, line.floor, line.contexts == ("heartbeat", "chat"))
        for name, line in CATEGORIES.items()
    }
    assert table == {
        "read": (0.5, 1.0, None, True),
        "create": (1.0, 2.0, None, True),
        "modify": (2.0, 3.0, None, False),
        "send_private": (3.0, 5.0, 3.0, False),
        "delete": (5.0, 7.0, 5.0, False),
        "send_public": (6.0, 8.0, 6.0, False),
    }


@pytest.mark.parametrize("line", CATEGORIES.values(), ids=CATEGORIES)
def test_a_category_starts_at_the_low_end_of_its_range(line):
    assert base_cost(line.ratings) == line.low


def test_a_word_stands_for_one_deed():
    counts = Counter(
        word for kind in ("always", "sometimes") for words in WORDS[kind].values() for word in words.split()
    )
    assert [word for word, count in counts.items() if count > 1] == []


# -- labelled tools ------------------------------------------------------------------------------


def labelled():
    """Yield tools of public servers, priced, with the least and the most expensive category that is right."""
    with (HERE / "labelled_tools.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            hints, schema = described(row)
            yield energy_for_tool(row["tool"], hints, schema), row["least"], row["most"]


def test_labelled_tools():
    tools = list(labelled())
    right = sum(RANK[least] <= RANK[tool.category] <= RANK[most] for tool, least, most in tools)
    cheap = [tool.name for tool, least, _ in tools if RANK[tool.category] < RANK[least]]
    below = [tool.name for tool, least, _ in tools if tool.energy_cost < (CATEGORIES[least].floor or 0.0)]
    assert (len(tools), right, len(cheap)) == (917, 828, 2)
    assert below == [
        "create_template"
    ]  # the machine it is made from never runs again; no name or hint says so


@pytest.mark.parametrize(
    "case", json.loads((HERE / "tool_cases.json").read_text()), ids=lambda case: case["name"]
)
def test_tools_that_were_wrong(case):
    tool = energy_for_tool(case["name"], case.get("annotations"), case["inputSchema"])
    if case["name"] in ("repo_branch", "pipelines_run"):  # nouns that are verbs elsewhere stay dear
        assert RANK[tool.category] > RANK["read"]
        return
    assert tool.category in case["right"]
    floors = [CATEGORIES[name].floor for name in case["right"] if CATEGORIES[name].floor]
    assert not case["never_cheap"] or tool.energy_cost >= min(floors)


# -- names ---------------------------------------------------------------------------------------

NAMES = {
    "read": """get_time listOrders search-web web.search users.list github__get_me slack:list_channels read_graph
        get_post list_deleted_files email_search getUpdates check_order list_drafts convert_time HTTPGet""",
    "create": "create_issue add_observations draft_email mkdir fork_repository createIssue2",
    "modify": "update_page edit_file move_file rename_column setStatus close_issue write_file UPDATE_ROW",
    "send_private": """send_message slack:send_message gmail_send_email notify_user sendEmail email_user reply_to_thread
        create_message publish_private send-private-post sendmessage""",
    "send_public": """publish_post tweet post_message chat.postMessage create_post broadcast_news announce add_comment
        send_to_all create_release message_post_public""",
    "delete": """delete_all remove_user drop_table rm wipe_disk purge-cache message_delete get_and_delete
        pay_invoice run_command execute_query shell create_transfer delete_post deletefile DELETE reset_password""",
}


@pytest.mark.parametrize(
    ("name", "category"), [(name, category) for category, names in NAMES.items() for name in names.split()]
)
def test_what_names_say(name, category):
    assert energy_for_tool(name).category == category


# What a tool does to the world holds, whatever its server says.
NEVER_CHEAP = {
    "send_public": """publish_page make_repository_public set_repo_visibility toggle_public go_live launch_campaign
        resume_campaign campaign_start enable_ad_set approve_comment status_reblog poll_vote
        schedule_campaign_tool_wrapper""",
    "delete": """send_payment place_order placeLimitOrder amend_order submit_order open_position close_trade
        account_close close_account approve approve_pull_request approve_token_spending confirm_order grant_role
        give_access set_permissions add_collaborator create_api_key force_push git_force_push forcePush call_customer
        enable launch create_subscription create_deployment send_transaction""",
    "send_private": "make_call schedule_call git_push submit_form add_user_to_group assign_role accept_offer",
}


@pytest.mark.parametrize(
    ("name", "category"),
    [(name, category) for category, names in NEVER_CHEAP.items() for name in names.split()],
)
def test_what_is_never_cheap(name, category):
    tool = energy_for_tool(name, TAME)
    assert tool.category == category
    assert tool.energy_cost >= CATEGORIES[category].floor


NOT_DEAR = {
    "read": """order_status preview_order ib_order_preview get_update git_log convert_time resolve_library_id
        render_template""",
    "create": """create_release_note create_post_draft createDraftPullRequest create_email_template create_alert
        create_contact git_commit create_campaign""",
    "modify": """git_checkout checkout_branch star_repository unstar pin_message follow_user unblock_user
        convert_issue_to_task resolve_thread resolve_issue_by_id set_public_ip restart_server reschedule_meeting""",
}


@pytest.mark.parametrize(
    ("name", "category"), [(name, category) for category, names in NOT_DEAR.items() for name in names.split()]
)
def test_what_is_not_dear(name, category):
    assert energy_for_tool(name).category == category


@pytest.mark.parametrize("name", ["nuke_branch", "frobnicate_schedule", "frobnicate_message"])
def test_the_noun_of_an_unknown_verb_tells_nothing(name):
    tool = energy_for_tool(name)
    assert (tool.category, tool.unsure) == ("delete", True)


@pytest.mark.parametrize("name", ["frobnicate", "_", "x", "process", "browser_click", "查询天气", "🙂", "42"])
def test_what_cannot_be_told_is_dear(name):
    tool = energy_for_tool(name)
    assert (tool.category, tool.unsure) == ("delete", True)
    assert energy_for_tool(name, TAME).category == "read"  # then there is the server's word


def test_hints_are_read_first():
    assert energy_for_tool("frobnicate", {"readOnlyHint": True}).category == "read"
    assert (
        energy_for_tool("frobnicate", {"destructiveHint": False, "openWorldHint": False}).category == "modify"
    )
    assert energy_for_tool("frobnicate", {"destructiveHint": False}).category == "send_private"
    assert energy_for_tool("create_page", {"destructiveHint": True}).category == "delete"
    assert energy_for_tool("get_page", {"destructiveHint": True}).category == "delete"
    assert energy_for_tool("get_page", {"readOnlyHint": False}).category == "delete"


@pytest.mark.parametrize(
    "name", ["delete_all", "send_message", "tweet", "create_page", "update_page", "run_command"]
)
def test_a_hint_does_not_make_a_name_cheap(name):
    honest, flattered = energy_for_tool(name), energy_for_tool(name, TAME)
    assert flattered.category == honest.category
    assert flattered.unsure
    assert any("the higher price holds" in reason for reason in flattered.reasons)


def test_hints_that_contradict_each_other():
    tool = energy_for_tool("get_page", {"readOnlyHint": True, "destructiveHint": True})
    assert (tool.category, tool.unsure) == ("delete", True)


def test_hints_as_an_object_and_hints_that_are_none():
    mapping = {"readOnlyHint": True, "openWorldHint": False}
    assert energy_for_tool("look", SimpleNamespace(**mapping)) == energy_for_tool("look", mapping)
    tool = energy_for_tool("look", {"readOnlyHint": "true", "destructiveHint": 0})
    assert tool.category == "delete"


def test_a_change_that_can_be_repeated_at_home_is_allowed_in_heartbeats():
    assert energy_for_tool("update_page").allowed_contexts == ("chat",)
    tame = {"idempotentHint": True, "openWorldHint": False, "destructiveHint": False}
    for name in HINTS[1:]:
        hints = {key: value for key, value in tame.items() if key != name}
        both = energy_for_tool("update_page", hints).allowed_contexts == ("heartbeat", "chat")
        assert both == (name == "destructiveHint")


@pytest.mark.parametrize(
    ("name", "schema", "category"),
    [
        ("share_file", fields("file"), "send_public"),
        ("share_file", fields("file", "email"), "send_private"),
        ("create_gist", fields("content"), "create"),
        ("create_gist", fields("content", "public"), "send_public"),
        ("create_page", fields(status={"enum": ["draft", "Published"]}), "send_public"),
        ("create_repository", fields("isPrivate"), "send_public"),
        ("list_repositories", fields("visibility"), "read"),
        ("create_thing", fields("to", "body"), "send_private"),
        ("send_message", fields("to", "visibility"), "send_public"),
        ("query", fields("sql"), "delete"),
        ("delete_page", fields("visibility"), "delete"),
        ("git_push", fields("remote", "force"), "delete"),
        ("register_agent", fields("private_key"), "delete"),
        ("create_note", fields("amount", "to_address"), "delete"),
        ("create_note", fields("to_address"), "create"),
        ("draft_email", fields("to", "body"), "create"),
        ("checkout", fields("branch_name"), "modify"),
        ("checkout", fields("cart_id"), "delete"),
        ("issue_write", fields(method={"enum": ["create", "update"]}), "modify"),
        ("pull_request_read", fields(method={"enum": ["get", "get_diff"]}), "read"),
        ("work_item_write", fields(action={"enum": ["create", "delete"]}), "delete"),
    ],
)
def test_what_fields_say(name, schema, category):
    assert energy_for_tool(name, None, schema).category == category


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("send_message", fields("to")),
        ("send_message", fields(to={"type": "array"})),
        ("delete_page", fields("force")),
        ("delete_page", fields("ids")),
        ("update_page", fields("recursive")),
        ("create_page", fields("attendees")),
        ("create_page", fields() | {"required": ["a", "b", "c", "d"]}),
    ],
)
def test_fields_that_make_it_dearer(name, more):
    tame = {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert energy_for_tool(name, tame, more).energy_cost > energy_for_tool(name, tame, fields()).energy_cost


@pytest.mark.parametrize(
    "name", ["d\u0435lete_it", "get_\u200btime", "get\ntime", "\u202eemit_teg", "get_" + "x" * 200]
)
def test_disguised_names_are_dear(name):
    tool = energy_for_tool(name, TAME)
    assert (tool.category, tool.unsure) == ("delete", True)
    assert "look-alike" in tool.reasons[0]
    assert energy_for_tool(name, TAME, fields("visibility")).category == "send_public"


@pytest.mark.parametrize("name", ["", "   ", "\n", "x" * 1001, None, 7, b"get"])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match=r"^name: got .*; allowed: "):
        energy_for_tool(name)


@pytest.mark.parametrize("schema", [3, [], "x", {"properties": 3}, {"properties": None, "required": 5}])
def test_schemas_that_cannot_be_read(schema):
    assert energy_for_tool("get_time", None, schema).category == "read"


# -- properties -----------------------------------------------------------------------------------

VERBS = " ".join(words for kind in ("always", "sometimes") for words in WORDS[kind].values()).split()
SOME = (
    *sorted(VERBS)[::7],
    *[
        "get",
        "delete",
        "send",
        "post",
        "public",
        "private",
        "all",
        "and",
        "user",
        "email",
        "run",
        "process",
        "x",
    ],
)
NAMES_OF_ALL_KINDS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(SOME), min_size=1, max_size=4).map("_".join),
    st.lists(st.sampled_from(SOME), min_size=1, max_size=3).map(
        lambda words: "".join(w.title() for w in words)
    ),
)
FIELDS = [*" ".join(WORDS["fields"].values()).split(), "amount"]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SCHEMAS = (
    st.none()
    | JSON
    | st.fixed_dictionaries(
        {
            "properties": st.dictionaries(
                st.sampled_from(FIELDS) | st.text(max_size=5),
                JSON | st.fixed_dictionaries({"type": st.just("array")}) | st.just({"enum": ["public"]}),
                max_size=5,
            )
        },
        optional={"required": JSON},
    )
)
SAID = st.sampled_from([None, False, True])
ANNOTATIONS = st.fixed_dictionaries(dict.fromkeys(HINTS, SAID))


@given(NAMES_OF_ALL_KINDS, st.none() | JSON | ANNOTATIONS, SCHEMAS)
@settings(max_examples=300)
def test_every_tool_is_priced_within_its_category(name, annotations, schema):
    if not name.strip():
        with pytest.raises(ValueError, match=r"^name: got"):
            energy_for_tool(name, annotations, schema)
        return
    tool = energy_for_tool(name, annotations, schema)
    line = CATEGORIES[tool.category]
    assert line.low <= tool.energy_cost <= line.high
    assert tool.energy_cost >= (line.floor or 0.0)
    assert tool.energy_cost_floor == line.floor
    assert tool.allowed_contexts in (("heartbeat", "chat"), ("chat",))
    assert tool.allowed_contexts == line.contexts or tool.category == "modify"
    factors = tool.energy_cost_factors
    assert factors["base"] == base_cost([factors[name] for name in DIMENSIONS])
    assert all(0.0 <= factors[name] <= 4.0 for name in DIMENSIONS)
    assert tool.reasons
    assert "".join(tool.reasons).isprintable()
    json.dumps(tool.to_row(), allow_nan=False)


# What a hint may say, from the tame to the wild; what isn't said is the protocol's default or wilder than nothing.
ORDER = {
    "readOnlyHint": [True, None, False],
    "destructiveHint": [False, None, True],
    "idempotentHint": [True, None, False],
    "openWorldHint": [False, None, True],
}


@given(NAMES_OF_ALL_KINDS.filter(str.strip), ANNOTATIONS, st.sampled_from(HINTS), SCHEMAS)
@example("get_and_process", dict.fromkeys(HINTS), "readOnlyHint", None)
@settings(max_examples=300)
def test_a_wilder_hint_never_makes_it_cheaper(name, hints, which, schema):
    tools = [energy_for_tool(name, hints | {which: said}, schema) for said in ORDER[which]]
    costs = [tool.energy_cost for tool in tools]
    assert costs == sorted(costs)
    widths = [len(tool.allowed_contexts) for tool in tools]
    assert widths == sorted(widths, reverse=True)


def test_a_row_of_the_sources_table():
    row = energy_for_tool("slack:send_message", None, fields("channel", "text")).to_row()
    assert list(row) == [
        "energy_cost",
        "energy_cost_category",
        "energy_cost_factors",
        "energy_cost_floor",
        "allowed_contexts",
    ]
    assert row["energy_cost_category"] == "send_private"
    assert row["energy_cost_floor"] == 3.0
    assert row["allowed_contexts"] == ["chat"]
    assert set(row["energy_cost_factors"]) == {"base", *DIMENSIONS, "low", "high"}


# -- the lab's verbs ------------------------------------------------------------------------------


def test_the_labs_verbs():
    assert {verb: energy_for_verb(verb).energy_cost for verb in VERB_NAMES} == {
        "rest": 0.0,
        "reflect": 2.0,
        "propose": 0.0,
        "dmso": 1.0,
        "baseline": 2.0,
        "calibration": 2.0,
        "screen": 4.0,
        "dose_response": 6.0,
        "publish_public": 7.0,
    }


@pytest.mark.parametrize("verb", VERB_NAMES)
def test_a_verbs_cost_is_its_ratings(verb):
    tool = energy_for_verb(verb, preset("energy").energy)
    assert tool.energy_cost == base_cost([tool.energy_cost_factors[name] for name in DIMENSIONS])
    assert tool.allowed_contexts == (("chat",) if verb.startswith("publish") else ("heartbeat", "chat"))
    json.dumps(tool.to_row())


def test_publishing_is_sending():
    assert energy_for_verb("publish_public").energy_cost_floor == 6.0
    assert energy_for_verb("publish_public").category == "send_public"


def test_a_price_list_and_no_such_verb():
    dear = energy_for_verb("screen", EnergyParams(prices=PriceParams(screen=5.5)))
    assert dear.energy_cost == 5.5
    with pytest.raises(ValueError, match="did you mean 'screen'"):
        energy_for_verb("sreen")
