"""Prices of discovered tools: the source's table, labelled tools, and that no server talks its tools cheap."""

import csv
import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solvent.energy import CATEGORIES, energy_for_tool, energy_for_verb, pricing
from solvent.lab.mechanisms.energy import DIMENSIONS, base_cost

TAME = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
HINTS = tuple(TAME)
FILLED_IN = {hint: not tame for hint, tame in TAME.items()}  # the protocol's defaults, said
HERE = Path(__file__).parent
WORDS = tomllib.loads((Path(pricing.__file__).with_name("words.toml")).read_text(encoding="utf-8"))
RANK = {name: rank for rank, name in enumerate(CATEGORIES)}


def fields(*names, **more):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names} | more}


def test_the_ratings_of_a_category_give_the_low_end_of_its_range():
    assert all(base_cost(line.ratings) == line.low for line in CATEGORIES.values())


def described(row):
    """Hints and schema of a labelled tool, from their short forms in the file."""
    hints = {f"{hint.removeprefix('!')}Hint": not hint.startswith("!") for hint in row["hints"].split()}
    properties = {}
    for field in row["fields"].split():
        key, _, choices = field.partition("=")
        kind = {"type": "array"} if key.endswith("[]") else {}
        properties[key.removesuffix("[]")] = kind | ({"enum": choices.split("|")} if choices else {})
    return hints, {"properties": properties, "required": [str(i) for i in range(int(row["required"]))]}


def test_labelled_tools():
    """Tools of public servers, priced, with the least and the most expensive category that is right."""
    with (HERE / "labelled_tools.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    tools = [(energy_for_tool(row["tool"], *described(row)), row["least"], row["most"]) for row in rows]
    right = sum(RANK[least] <= RANK[tool.category] <= RANK[most] for tool, least, most in tools)
    cheap = [tool.name for tool, least, _ in tools if RANK[tool.category] < RANK[least]]
    below = [tool.name for tool, least, _ in tools if tool.energy_cost < (CATEGORIES[least].floor or 0.0)]
    assert right >= 0.9 * len(tools)  # docs/energy.md has the count of 2026-11-25
    assert len(cheap) <= 0.005 * len(tools)  # too expensive costs energy, too cheap does harm
    assert {*below} <= {"create_template"}  # its machine never runs again; no name or hint says so


def invented_tools():
    with (HERE / "invented_tools.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            hints, _ = described(row | {"fields": "", "required": "0"})
            yield energy_for_tool(row["tool"], hints, None, row["description"]), row["right"].split("|")


def test_invented_tools():
    """Names that were thought up before their prices were known, half of them for what destroys mildly."""
    tools = list(invented_tools())
    right = sum(tool.category in categories for tool, categories in tools)
    cheap = {tool.name for tool, right in tools if RANK[tool.category] < min(RANK[one] for one in right)}
    assert right >= 0.95 * len(tools)
    assert cheap <= {"sync_mirror"}  # only its description says what it removes, and not with its first word


def test_invented_tools_that_destroy_are_not_for_heartbeats():
    allowed = {
        tool.name
        for tool, right in invented_tools()
        if "heartbeat" in tool.allowed_contexts and "delete" in right
    }
    assert allowed <= {"sync_mirror"}


@pytest.mark.parametrize(
    ("description", "category"),
    [
        ("Deletes every file that is older.", "delete"),
        ("Publishes the page.", "send_public"),
        ("Gets what to delete.", "read"),
        ("", "read"),
        (7, "read"),
    ],
)
def test_the_first_word_of_a_description_can_only_raise_a_price(description, category):
    assert energy_for_tool("get_files", TAME, None, description).category == category
    assert energy_for_tool("delete_files", TAME, None, description).energy_cost >= 5.0


def test_the_tool_of_a_server_has_its_price_and_its_own_name():
    tool, own = energy_for_tool("search"), energy_for_tool("search").of_server("library")
    assert (own.name, own.to_row()) == ("library:search", tool.to_row())
    for wrong in ("", " ", "a:b", "half\ud800"):
        with pytest.raises(ValueError, match="server: got"):
            tool.of_server(wrong)


@pytest.mark.parametrize(
    "case", json.loads((HERE / "tool_cases.json").read_text()), ids=lambda case: case["name"]
)
def test_tools_that_were_wrong(case):
    tool = energy_for_tool(case["name"], case.get("annotations"), case["inputSchema"])
    assert tool.category in case["right"]
    floors = [CATEGORIES[name].floor for name in case["right"] if CATEGORIES[name].floor]
    assert not case["never_cheap"] or tool.energy_cost >= min(floors)


NAMES = {
    "read": "get_time listOrders search-web web.search github__get_me slack:list_channels getUpdates HTTPGet git_log",
    "create": "create_issue draft_email mkdir createIssue2 create_release_note createDraftPullRequest git_commit",
    "modify": "update_page setStatus UPDATE_ROW unstar pin_message unblock_user set_public_ip reschedule_meeting",
    "send_private": "send_message slack:send_message sendEmail email_user publish_private send-private-post",
    "send_public": "publish_post tweet chat.postMessage create_post announce send_to_all message_post_public",
    "delete": "delete_all rm purge-cache message_delete get_and_delete pay_invoice run_command deletefile DELETE",
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
    assert any("the higher price holds" in reason for reason in tool.reasons)


@pytest.mark.parametrize("name", ["frobnicate", "x", "process", "browser_click", "查询天气", "🙂", "42"])
def test_what_cannot_be_told_is_dear(name):
    tool = energy_for_tool(name)
    assert (tool.category, tool.unsure) == ("delete", True)
    assert energy_for_tool(name, TAME).category == "read"  # then there is the server's word


def test_an_unknown_verb_is_not_for_heartbeats():
    hints = {hint: TAME[hint] for hint in HINTS[1:]}
    tool = energy_for_tool("frobnicate_page", hints)
    assert (tool.category, tool.unsure, tool.allowed_contexts) == ("modify", True, ("chat",))


@pytest.mark.parametrize("left_out", HINTS[1:])
def test_a_change_that_can_be_repeated_at_home_is_allowed_in_heartbeats(left_out):
    assert energy_for_tool("update_page").allowed_contexts == ("chat",)
    hints = {hint: TAME[hint] for hint in HINTS[1:] if hint != left_out}
    contexts = energy_for_tool("update_page", hints).allowed_contexts
    assert contexts == (("heartbeat", "chat") if left_out == "destructiveHint" else ("chat",))


@pytest.mark.parametrize(
    ("name", "hints", "schema", "category"),
    [
        ("frobnicate", {"readOnlyHint": True}, None, "read"),
        ("frobnicate", {"destructiveHint": False, "openWorldHint": False}, None, "modify"),
        ("frobnicate", SimpleNamespace(destructiveHint=False), None, "send_private"),
        ("create_page", {"destructiveHint": True}, None, "delete"),
        ("get_page", {"readOnlyHint": False}, None, "delete"),
        ("get_page", {"destructiveHint": True}, None, "delete"),
        ("get_page", {"readOnlyHint": False, "destructiveHint": True}, None, "delete"),
        ("get_page", FILLED_IN, None, "read"),
        ("get_page", {"readOnlyHint": True, "destructiveHint": True}, None, "read"),
        ("frobnicate", FILLED_IN, None, "delete"),
        ("create_page", FILLED_IN, None, "delete"),
        ("look", {"readOnlyHint": "true", "destructiveHint": 0}, None, "delete"),  # these are no hints
        ("share_file", None, fields("file"), "send_public"),
        ("share_file", None, fields("file", "email"), "send_private"),
        ("create_gist", None, fields("content", "public"), "send_public"),
        ("create_page", None, fields(status={"enum": ["draft", "Published"]}), "send_public"),
        ("list_repositories", None, fields("visibility"), "read"),
        ("query", None, fields("sql"), "delete"),
        ("query", TAME, fields("sql"), "read"),
        ("git_push", None, fields("remote", "force"), "delete"),
        ("register_agent", None, fields("private_key"), "delete"),
        ("checkout", None, fields("branch_name"), "modify"),
        ("pull_request_read", None, fields(method={"enum": ["get", "get_diff"]}), "read"),
        ("work_item_write", None, fields(action={"enum": ["create", "delete"]}), "delete"),
    ],
)
def test_what_hints_and_fields_say(name, hints, schema, category):
    assert energy_for_tool(name, hints, schema).category == category


@pytest.mark.parametrize("name", ["d\u0435lete_it", "get_\u200btime", "get\ntime", "get_" + "x" * 200])
def test_disguised_names_are_dear(name):
    tool = energy_for_tool(name, TAME)
    assert (tool.category, tool.unsure) == ("delete", True)
    assert "look-alike" in tool.reasons[0]
    assert energy_for_tool(name, TAME, fields("visibility")).category == "send_public"


@pytest.mark.parametrize("name", ["", "\n", "x" * 1001, None, b"get", "get\ud800", "get\0"])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match=r"^name: got .*; allowed: "):
        energy_for_tool(name)


def test_no_such_verb():
    with pytest.raises(ValueError, match="did you mean 'screen'"):
        energy_for_verb("sreen")


VERBS = " ".join(WORDS["verbs"].values()).split()
MORE = ["get", "delete", "send", "post", "public", "private", "all", "and", "user", "email", "run", "process"]
NAMES_OF_ALL_KINDS = st.text(min_size=1, max_size=30).filter(str.strip).filter(
    pricing.is_storable
) | st.lists(st.sampled_from((*sorted(VERBS)[::7], *MORE)), min_size=1, max_size=4).map("_".join)
FIELDS = " ".join(WORDS["fields"].values()).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELD = JSON | st.just({"type": "array"}) | st.just({"enum": ["public"]})
PROPERTIES = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), FIELD, max_size=5)
SCHEMAS = st.none() | JSON | st.fixed_dictionaries({"properties": PROPERTIES}, optional={"required": JSON})
ANNOTATIONS = st.fixed_dictionaries(dict.fromkeys(HINTS, st.sampled_from([None, False, True])))


@given(NAMES_OF_ALL_KINDS, st.none() | JSON | ANNOTATIONS, SCHEMAS)
@settings(max_examples=300)
def test_every_tool_is_priced_within_its_category(name, annotations, schema):
    tool = energy_for_tool(name, annotations, schema)
    line = CATEGORIES[tool.category]
    assert line.low <= tool.energy_cost <= line.high
    assert tool.energy_cost_floor == line.floor
    assert tool.allowed_contexts in (line.contexts, ("heartbeat", "chat"))
    factors = tool.energy_cost_factors
    assert factors["base"] == base_cost([factors[name] for name in DIMENSIONS])
    assert all(0.0 <= factors[name] <= 4.0 for name in DIMENSIONS)
    assert "".join(tool.reasons).isprintable()
    json.dumps(tool.to_row(), allow_nan=False)


def from_tame_to_wild(name, hints, which, schema):
    """The prices of a tool with one hint tame, unsaid and wild; what isn't said is the protocol's default or wilder."""
    order = [hints | {which: hint} for hint in (TAME[which], None, not TAME[which])]
    return [energy_for_tool(name, given, schema) for given in order if not pricing.Hints.of(given).filled_in]


@given(NAMES_OF_ALL_KINDS, ANNOTATIONS, st.sampled_from(HINTS), SCHEMAS)
@example("get_and_process", dict.fromkeys(HINTS), "readOnlyHint", None)
@settings(max_examples=300)
def test_a_wilder_hint_never_makes_it_cheaper(name, hints, which, schema):
    costs = [tool.energy_cost for tool in from_tame_to_wild(name, hints, which, schema)]
    assert costs == sorted(costs)


@given(NAMES_OF_ALL_KINDS, ANNOTATIONS, st.sampled_from(HINTS), SCHEMAS)
@example("Amend", {"idempotentHint": True, "openWorldHint": False}, "readOnlyHint", None)
@settings(max_examples=300)
def test_a_wilder_hint_never_allows_it_in_more_contexts(name, hints, which, schema):
    """Of hints that are believed: a server that calls an amendment reading is believed in nothing else either."""
    tools = from_tame_to_wild(name, hints, which, schema)
    believed = [tool for tool in tools if "less than its name" not in " ".join(tool.reasons)]
    widths = [len(tool.allowed_contexts) for tool in believed]
    assert widths == sorted(widths, reverse=True)
