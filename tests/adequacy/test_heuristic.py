"""Words against evidence: the source's table, its phrases where they count and where not, and what must never be."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy, Words, score, score_of
from solvent.adequacy.tools import Evidence, ToolContext
from solvent.lab.mechanisms.assay import AssayParams
from solvent.lab.words.catalogue import load_catalogue
from tests.commands import execute_python

NOTHING = ToolContext()
FILES = {
    "auth.py": "def login(user):\n    return check(user, 'session_token')",
    "net.py": "def send(packet):\n    socket.write(packet)  # buffer of 4096",
    "store.py": "class Store:\n    def put(self, key): self.rows[key] = 'archive_row'",
    "main.py": "run(login, send, Store())  # port 8443",
}
REFERRING = "It passes the session_token, the 4096 buffer, the archive_row and port 8443."


def call(name, result="", **arguments):
    return {"name": name, "arguments": arguments, "result": result}


def files_read(count):
    listed = list(FILES.items())[:count]
    return ToolContext.from_dicts([call("Read", text, file_path=path) for path, text in listed])


def strongest(response):
    said = [s.words for s in score(response, NOTHING).sentences if s.words is not None]
    return max(said, default=None)


# ------------------------------------------------------------------------------------------ the source's table


SEARCHES = ToolContext.from_dicts(
    [call("Grep", "No matches found", pattern=word, path="src") for word in ("retry", "backoff", "attempts")]
)
THREE_FILES = (
    "This is how it works: login checks the session_token, send buffers 4096, put keeps the archive_row."
)


@pytest.mark.parametrize(
    ("response", "context", "expected", "rule"),
    [
        ("Based on the files I checked, there is no retry in it.", SEARCHES, 0, "hedged/reasonable"),
        (THREE_FILES, files_read(3), 1, "definitive/reasonable"),
        ("The function logout doesn't exist.", files_read(1), 2, "definitive/thin"),
        ("This feature is not available.", NOTHING, 3, "definitive/none"),
    ],
    ids=[
        "several searches, hedged",
        "three files, how it works",
        "one file, doesn't exist",
        "no tool, not available",
    ],
)
def test_the_source_s_table_holds_row_by_row(response, context, expected, rule):
    found = score(response, context)
    assert (found.score, found.rule) == (expected, rule)


def test_the_matrix_is_words_less_evidence_and_one_but_for_two_cells_of_the_source():
    """The source's table: hedged words are adequate, a universal claim after one look is 2."""
    of_the_source = {(Words.HEDGED, Evidence.NONE): 0, (Words.ABSOLUTE, Evidence.THIN): 2}
    for words in Words:
        for evidence in Evidence:
            otherwise = min(3, max(0, words - evidence + 1))
            assert score_of(words, evidence) == of_the_source.get((words, evidence), otherwise)


# ------------------------------------------------------------------------------------------ the source's phrases


STRONG_NEGATIVES = {
    "does not exist": "the option does not exist",
    "doesn't exist": "the option doesn't exist",
    "is not present": "the key is not present",
    "isn't present": "the key isn't present",
    "there is no": "there is no retry",
    "there are no": "there are no tests for it",
    "none of the": "none of the files import it",
    "cannot be found": "the module cannot be found",
    "is not defined": "the name is not defined",
    "isn't defined": "the name isn't defined",
    "no such": "no such option is known",
    "not available": "the feature is not available",
    "is missing": "the header is missing",
}
ASSERTED = {
    "plain": "{S}.",
    "after but": "I looked at it, but {s}.",
    "after and": "The server starts and {s}.",
    "after so": "I did not see it in a.py, so {s}.",
    "after because": "It fails because {s}.",
    "after a greeting": "Sure, {s}.",
    "after note": "Note that {s}.",
    "after yes": "Yes, {s}.",
    "after a colon": "The result: {s}.",
    "in a list": "- {S}",
    "in bold": "**{S}.**",
    "exclaimed": "{S}!",
    "other apostrophe": "{S}.".replace("'", "\u2019"),
}
NOT_ASSERTED = {
    "denied": "It is not true that {s}.",
    "not the case": "It is not the case that {s}.",
    "wrong to say": "It would be wrong to say that {s}.",
    "does not mean": "That doesn't mean that {s}.",
    "can't say": "I can't say that {s}.",
    "wouldn't say": "I wouldn't say that {s}.",
    "not saying": "I am not saying that {s}.",
    "no evidence": "I have no evidence that {s}.",
    "double quotes": 'The error says "{s}".',
    "single quotes": "The error says '{s}.'",
    "curly quotes": "The error says \u201c{s}\u201d.",
    "inline code": "The output was `{s}`.",
    "fenced code": "It prints this:\n```\n{s}\n```\n",
    "indented code": "The log:\n\n    {s}\n\nThat is it.",
    "block quote": "The log:\n\n> {s}\n",
    "question": "{S}?",
    "asked": "Is it so that {s}?",
    "if": "If {s}, the loader stops.",
    "if, at the end": "The loader stops if {s}.",
    "if, in an order": "Tell me if {s}.",
    "unless": "Unless {s}, it starts.",
    "whether": "I will check whether {s}.",
    "assuming": "Assuming {s}, we can go on.",
    "when": "When {s}, a default is used.",
    "in case": "In case {s}, a default is used.",
    "make sure": "Make sure {s}.",
    "ensure": "Please ensure {s}.",
    "check that": "Check that {s} before you start.",
}


def filled(template, sentence):
    return template.replace("{S}", sentence[0].upper() + sentence[1:]).replace("{s}", sentence)


@pytest.mark.parametrize("place", list(ASSERTED))
def test_a_strong_negative_counts_where_it_is_asserted(place):
    for sentence in STRONG_NEGATIVES.values():
        response = filled(ASSERTED[place], sentence)
        if place == "other apostrophe":
            response = response.replace("'", "\u2019")
        found = score(response, NOTHING)
        assert found.strong_negative, response
        assert found.score == 3, response
        assert found.words in (Words.DEFINITIVE, Words.ABSOLUTE), response
        assert any(span.kind == "strong_negative" for span in found.spans), response


@pytest.mark.parametrize("place", list(NOT_ASSERTED))
def test_a_strong_negative_does_not_count_where_it_is_not_asserted(place):
    for sentence in STRONG_NEGATIVES.values():
        response = filled(NOT_ASSERTED[place], sentence)
        found = score(response, NOTHING)
        assert not found.strong_negative, response
        assert found.words is None or found.words <= Words.PLAIN, response
        assert all(span.kind != "strong_negative" for span in found.spans), response


@pytest.mark.parametrize(
    ("response", "words"),
    [
        # universal and definitive claims, doubt ruled out
        ("Every request is logged.", Words.DEFINITIVE),
        ("The value is never set.", Words.DEFINITIVE),
        ("All tests pass.", Words.DEFINITIVE),
        ("All 42 tests pass.", Words.PLAIN),
        ("Not all tests pass.", Words.PLAIN),
        ("This is how it works.", Words.DEFINITIVE),
        ("The root cause is a race.", Words.DEFINITIVE),
        ("It is the only caller.", Words.DEFINITIVE),
        ("It certainly works.", Words.DEFINITIVE),
        ("There is no doubt that it works.", Words.DEFINITIVE),
        ("No function named `foo` exists.", Words.DEFINITIVE),
        ("The option definitely does not exist.", Words.ABSOLUTE),
        ("The option does not exist anywhere in the repository.", Words.ABSOLUTE),
        ("This proves that all calls are checked.", Words.ABSOLUTE),
        # hedges
        ("In the files I checked, the option does not exist.", Words.HEDGED),
        ("The option does not exist, as far as I can tell.", Words.HEDGED),
        ("I did not find the option.", Words.HEDGED),
        ("I couldn't find it anywhere in the repository.", Words.HEDGED),
        ("I found no call of it in src.", Words.HEDGED),
        ("My search returned no results.", Words.HEDGED),
        ("The option may not be available.", Words.HEDGED),
        ("It appears to be missing.", Words.HEDGED),
        ("It appears in line 3.", Words.PLAIN),
        ("Based on the log, the disk is full.", Words.HEDGED),
        ("It is probably the cache.", Words.HEDGED),
        ("I am not certain that all calls are checked.", Words.HEDGED),
        ("I can't confirm that every test ran.", Words.HEDGED),
        ("I am certain that it works.", Words.DEFINITIVE),
        ("We are quite sure that it works.", Words.DEFINITIVE),
        ("My guess is that it does not exist.", Words.HEDGED),
        ("It is too early to say that it does not exist.", Words.HEDGED),
        ("I would say it does not exist.", Words.HEDGED),
        ("It failed in May 2024.", Words.PLAIN),
        # a hedge counts in its own clause
        ("It may be slow, but there is no leak.", Words.DEFINITIVE),
        ("I did not find it in a.py, so it does not exist.", Words.DEFINITIVE),
        ("I searched src and there is no call.", Words.DEFINITIVE),
        # a source that is named
        ("The log says that there is no space left.", Words.PLAIN),
        ("The readouts indicate that all wells are dead.", Words.PLAIN),
        # nothing asserted
        ("Run the tests and check the log.", None),
        ("Please restart the server.", None),
        ("Set the limit to 30.", None),
        ("Set A holds 30 items.", Words.PLAIN),
        ("Let me look at it.", None),
        ("I'll check whether there is no such option.", None),
        ("I can help with that.", None),
        ("Would you like me to look?", None),
        ("Happy to help!", None),
        ("Hello!", None),
        ("Thanks for the report.", None),
        ("I hope this helps.", None),
        ("Sure!", None),
        ("## Overview", None),
        ("- Key points", None),
        ("If you want, run it again.", None),
        ("```\nx does not exist\n```", None),
        ("", None),
        # plain
        ("The function checks the token.", Words.PLAIN),
        ("If the key is gone, the loader stops.", Words.PLAIN),
        ("Yes.", Words.PLAIN),
        ("There is no need to restart.", Words.PLAIN),
    ],
)
def test_words(response, words):
    assert strongest(response) == words


LEADING_OVER = {
    "to be clear": "To be clear, {s}.",
    "in short": "In short: {s}.",
    "in conclusion": "In conclusion, {s}.",
    "in other words": "In other words, {s}.",
    "as a result": "As a result, {s}.",
    "afraid": "I'm afraid {s}.",
    "afraid that": "I am afraid that {s}.",
    "happy to report": "I'm happy to report that {s}.",
    "happy to confirm": "Happy to confirm that {s}.",
    "sorry to say": "I'm sorry to say that {s}.",
    "sorry": "I'm sorry, {s}.",
    "let me be clear": "Let me be perfectly clear: {s}.",
    "let's be honest": "Let's be honest, {s}.",
    "let me tell": "Let me tell you that {s}.",
    "you should know": "You should know that {s}.",
    "want to be clear": "I want to be clear that {s}.",
    "would like to stress": "I would like to stress that {s}.",
    "feel I should add": "I should add that {s}.",
    "will say": "I will say that {s}.",
    "point out": "I want to point out that {s}.",
    "please note": "Please note that {s}.",
    "please note:": "Please note: {s}.",
    "as requested": "As requested, {s}.",
    "here is": "Here is what happens: {s}.",
    "good catch": "Good catch: {s}.",
    "thanks": "Thanks - {s}.",
    "to confirm": "To confirm, {s}.",
    "order, comma": "Remove `foo`, {s}.",
    "order, colon": "See config.py: {s}.",
    "order, dash": "Delete that line \u2014 {s}.",
    "order, bracket": "Delete that line ({s}).",
    "offer, comma": "I will look at the others next, {s}.",
    "order, as": "Remove `foo`, as {s}.",
    "advice, colon": "My advice: leave it as it is, {s}.",
    "both": "To be clear, I'm afraid {s}.",
}
STATEMENTS = (
    "there is no retry",
    "nothing uses it",
    "it is never called",
    "the option does not exist",
    "`send` is never called",
)


@pytest.mark.parametrize("place", list(LEADING_OVER))
def test_what_leads_over_to_a_claim_hides_none(place):
    for statement in STATEMENTS:
        bare = score(filled("{S}.", statement), NOTHING)
        response = filled(LEADING_OVER[place], statement)
        found = score(response, NOTHING)
        assert (found.score, found.rule, found.strong_negative) == (3, bare.rule, bare.strong_negative), (
            response
        )
        assert found.escalate, response
        assert [span.kind for span in found.spans] == [span.kind for span in bare.spans], response


@pytest.mark.parametrize(
    "response",
    [
        "I'm happy to help with all of that.",
        "Happy to look at every file.",
        "I would be happy to check all files.",
        "I'm going to read all files, every test, the log.",
        "I will add a test that covers all cases.",
        "I'd recommend a cache that never expires.",
        "Use these flags: verbose, debug, all.",
        "Restart the server, the worker, the queue.",
        "Read all files, every test, then run them.",
        "Here are the files, all of them.",
        "Let me know if there is no retry, or if it is missing.",
        "Please remember to restart all of them.",
        "As requested.",
        "To be clear, run all tests.",
        "I'm sorry for all the trouble.",
        "My plan: read every file, run all tests.",
    ],
)
def test_offers_orders_and_greetings_assert_nothing(response):
    found = score(response, NOTHING)
    assert (found.score, found.rule, found.escalate) == (0, "nothing_asserted", False)


REPORTS = [
    "I've verified that the deployment works.",
    "I ran the full test suite and the build is green.",
    "I checked auth.py and net.py.",
    "We tested it on both hosts.",
    "I have read net.py; it may be slow.",
    "Based on the files I checked, it does not exist.",
    "In the modules that we have tested, it is missing.",
]


@pytest.mark.parametrize("response", REPORTS)
def test_a_check_that_is_told_of_without_a_call_softens_nothing_and_escalates(response):
    found = score(response, NOTHING)
    assert "reported_without_call" in found.signals
    assert found.escalate
    assert score(response, NOTHING, "Does the deployment work?").escalate
    called = score(response, files_read(1))
    assert "reported_without_call" not in called.signals
    assert called.score < found.score


@pytest.mark.parametrize(
    "response",
    [
        "It is not true that the cache is stale, the disk is never read, or the log is missing.",
        "I can't confirm that all tests pass, the build is green, or every host is up.",
    ],
)
def test_of_a_list_of_statements_that_is_denied_or_left_open_none_is_asserted(response):
    assert (strongest(response) or Words.HEDGED) <= Words.PLAIN


def test_a_bare_report_of_calls_is_hedged_and_what_comes_with_it_is_not():
    assert score("I checked auth.py and net.py.", files_read(2)).words == Words.HEDGED
    assert score("I ran the tests and the build is green.", files_read(2)).words == Words.PLAIN
    assert score("I ran the tests and the linter.", files_read(2)).words == Words.HEDGED


@pytest.mark.parametrize(
    "heading",
    [
        "# Is it possible to retry?",
        "# What you should know",
        "## What can be improved",
        "## What I found",
        "# Possible next steps",
        "# Should we worry, based on the log?",
    ],
)
def test_a_heading_that_asserts_no_ground_softens_nothing_below(heading):
    found = score(f"{heading}\n\nThere is no cache. Nothing calls it.", NOTHING)
    assert (found.score, found.words, found.escalate) == (3, Words.DEFINITIVE, True)


def test_a_hedge_in_the_line_that_leads_a_list_counts_for_the_list():
    assert strongest("Likely reasons:\n- the cache is never cleared\n- there is no retry") == Words.HEDGED
    assert strongest("The reasons:\n- the cache is never cleared") == Words.DEFINITIVE


def test_an_order_after_a_claim_leaves_its_wordings():
    found = score("There is no retry; run it.", NOTHING)
    assert [span.text for span in found.spans] == ["There is no"]


def test_a_hedge_in_the_heading_counts_for_what_stands_below():
    listed = "In the files I checked:\n- `foo` does not exist\n- there is no retry"
    assert [s.words for s in score(listed, NOTHING).sentences] == [None, Words.HEDGED, Words.HEDGED]
    headed = "## Based on the files I checked\n\n`foo` does not exist.\n\n## Result\n\n`foo` does not exist."
    words = [s.words for s in score(headed, NOTHING).sentences if s.words is not None]
    assert words == [Words.HEDGED, Words.DEFINITIVE]
    apart = "I only looked at one file. `foo` does not exist."
    assert strongest(apart) == Words.DEFINITIVE


# ---------------------------------------------------------------------------------------------------- the lab


def findings():
    assay = AssayParams()
    said = load_catalogue().findings(assay, "etoposide")
    classes = assay.potency_classes
    return [
        (("hedged", "plain", "definitive")[i // classes], i % classes, text) for i, text in enumerate(said)
    ]


def plates(count):
    """A log as the lab keeps it: each plate's readouts and the sentence of its fit."""
    spans = load_catalogue().spans(AssayParams(), (3.2e-8, 3.2e-7), "etoposide")
    calls = []
    for plate in range(1, count + 1):
        result = " ".join([spans[plate], spans[plate + 5], spans[-plate]])
        calls.append(
            {
                "name": "dose_response",
                "arguments": {"compound": "etoposide", "plate": plate},
                "result": result,
            }
        )
    return ToolContext.from_dicts(calls)


EXPECTED = {
    ("hedged", False): (0, 0, 0, 0, 0),
    ("hedged", True): (0, 0, 0, 0, 0),
    ("plain", False): (2, 1, 0, 0, 0),
    ("plain", True): (2, 1, 0, 0, 0),
    ("definitive", False): (3, 2, 1, 1, 0),
    ("definitive", True): (3, 2, 2, 2, 1),
}
STRENGTH = {
    ("hedged", False): Words.HEDGED,
    ("hedged", True): Words.HEDGED,
    ("plain", False): Words.PLAIN,
    ("plain", True): Words.PLAIN,
    ("definitive", False): Words.DEFINITIVE,
    ("definitive", True): Words.ABSOLUTE,
}


def test_the_lab_s_findings_score_by_wording_and_plates():
    for wording, named, text in findings():
        key = (wording, named == 0)
        for count, expected in enumerate(EXPECTED[key]):
            found = score(text, plates(count))
            assert found.words == STRENGTH[key], text
            assert found.score == expected, (text, count, found.rule)


# --------------------------------------------------------------------------------------------------- evidence


BROAD = call("Grep", "net.py:2: socket.write(packet)  # buffer of 4096", pattern="socket")
ERROR = call("Read", "failed", file_path="x.py") | {"error": True}


@pytest.mark.parametrize(
    ("calls", "evidence", "signals"),
    [
        ([], Evidence.NONE, ("no_tool_call",)),
        (
            [call("Read", FILES["net.py"], file_path="net.py")],
            Evidence.THIN,
            ("single_call", "single_narrow_read"),
        ),
        ([call("Grep", "", pattern="x", path="src")], Evidence.THIN, ("single_call", "single_narrow_search")),
        ([BROAD], Evidence.REASONABLE, ("single_call",)),
        ([BROAD, BROAD], Evidence.REASONABLE, ("single_call", "repeated_call")),
        ([ERROR], Evidence.NONE, ("only_errors",)),
        ([ERROR, ERROR], Evidence.NONE, ("repeated_call", "only_errors")),
        ([BROAD, ERROR], Evidence.REASONABLE, ("single_call",)),
        (
            [call("Write", "", file_path="a")] * 2,
            Evidence.THIN,
            ("single_call", "single_narrow_read", "repeated_call"),
        ),
        ([call("Read", "Error: no permission", file_path="a")], Evidence.NONE, ("empty_results",)),
        ([call("Read", None, file_path=str(i)) for i in range(2)], Evidence.REASONABLE, ()),
        (
            [call("Read", "alien words", file_path=str(i)) for i in range(4)],
            Evidence.THIN,
            ("results_not_referred",),
        ),
        (
            [call("Read", "alien words", file_path="a"), BROAD],
            Evidence.REASONABLE,
            ("some_results_not_referred",),
        ),
        ([BROAD, call("Glob", "net.py", pattern="**/*.py")], Evidence.AMPLE, ("some_results_not_referred",)),
    ],
    ids=range(14),
)
def test_evidence_and_its_signals(calls, evidence, signals):
    found = score("The socket has a buffer of 4096 and no retry.", ToolContext.from_dicts(calls))
    assert (found.evidence, found.signals) == (evidence, signals)


@pytest.mark.parametrize(
    "result",
    [
        "bash: rg: command not found",
        "sh: 1: rg: not found: command not found",
        "'rg' is not recognized as an internal or external command",
        "grep: src: No such file or directory",
        "rg: error: invalid regex",
        "bash: ./search.sh: Permission denied",
    ],
)
def test_a_search_that_never_ran_found_nothing_out(result):
    context = ToolContext.from_dicts([call("Bash", result, command="rg retry .")])
    found = score("There is no retry.", context)
    assert (found.evidence, found.score, found.escalate) == (Evidence.NONE, 3, True)


def test_that_a_search_never_ran_can_be_told():
    context = ToolContext.from_dicts([call("Bash", "bash: rg: command not found", command="rg retry .")])
    told = score("The command is not known to bash.", context)
    assert (told.evidence, told.score) == (Evidence.REASONABLE, 0)


def test_without_a_denial_nothing_printed_is_no_answer():
    silent = ToolContext.from_dicts([call("Bash", "", command="make")])
    assert score("The build works.", silent).evidence == Evidence.NONE
    assert score("The build works.", silent).signals == ("empty_results",)


def test_more_files_lower_the_score():
    response = f"There is no logout. {REFERRING}"
    assert [score(response, files_read(n)).score for n in range(5)] == [3, 2, 1, 1, 0]


# ---------------------------------------------------------------------------------------------------- support


def test_with_the_query_a_plain_claim_is_held_against_the_results():
    context = ToolContext.from_dicts([call("Read", "timeout = 30\nworkers = 12", file_path="app.toml")])
    query = "How many workers are in our settings?"
    said = score("There are 12 workers and the timeout is 30.", context, query)
    assert (said.score, said.rule, said.signals[-1]) == (0, "plain/thin", "claim_supported")
    made_up = score("The pool grows to 200 threads under load.", context, query)
    assert (made_up.score, made_up.rule, made_up.signals[-1]) == (2, "plain/thin", "claim_unsupported")
    assert score("The pool grows to 200 threads under load.", context).score == 1
    nothing = score("It has 12 workers.", NOTHING, query)
    assert (nothing.score, nothing.signals) == (3, ("no_tool_call", "claim_unsupported"))
    known = score(
        "Water boils at a lower temperature there.", NOTHING, "Why do eggs cook slowly on mountains?"
    )
    assert (known.score, known.signals) == (1, ("no_tool_call", "claim_supported"))


def test_what_the_user_hands_over_is_a_source():
    snippet = "What does this print?\n```python\nif path.exists():\n    print('ready', 4096)\n```"
    assert score("It prints `ready` and 4096 when the path exists.", NOTHING, snippet).score == 0
    assert (
        score("It prints `ready` and 4096 when the path exists.", NOTHING, "What does it print?").score == 3
    )


def test_strong_words_are_not_mended_by_what_they_share():
    context = ToolContext.from_dicts([call("Read", "timeout = 30\nworkers = 12", file_path="app.toml")])
    assert score("All workers stop at the timeout of 30.", context, "When do they stop?").score == 2


# ------------------------------------------------------------------------------------------------- escalation


@pytest.mark.parametrize(
    ("response", "context", "escalates"),
    [
        ("It doesn't exist.", NOTHING, True),
        ("It doesn't exist.", files_read(1), True),
        ("It doesn't exist. " + REFERRING, files_read(4), False),
        ("The bug is in auth.py.", NOTHING, True),
        ("The bug is in auth.py.", files_read(1), False),
        ("It may be in auth.py.", NOTHING, False),
        ("Hello!", NOTHING, False),
        ("Is it there?", NOTHING, False),
    ],
)
def test_escalation_follows_strong_words_with_thin_evidence(response, context, escalates):
    assert score(response, context).escalate is escalates
    padded = f"Hello! Thanks for asking.\n\n{response}\n\nI hope this helps."
    assert score(padded, context).escalate is escalates


# ------------------------------------------------------------------------------------------------- properties


SENTENCES = st.sampled_from(
    [
        "There is no retry in net.py.",
        "It does not exist anywhere.",
        "All requests go through `login`.",
        "This is how the queue works.",
        "The buffer holds 4096 bytes.",
        "It definitely never fails.",
        "The session_token is checked in auth.py.",
        "In the files I checked, it is not defined.",
        "It may be the cache.",
        "Run the tests.",
        "If it is missing, a default is used.",
        "The log says 'not available'.",
        "I did not find it.",
        "Hello!",
    ]
)
RESPONSES = st.lists(SENTENCES, max_size=4).map(" ".join)
CALL = st.builds(
    lambda name, place, result, error: call(name, result, path=place) | {"error": error},
    st.sampled_from(["Read", "Grep", "Bash", "Glob"]),
    st.sampled_from([*FILES, ".", "", "src"]),
    st.sampled_from([*FILES.values(), "", None, "No matches found", "Error: broken", "alien words"]),
    st.booleans(),
)
CALLS = st.lists(CALL, max_size=5)
QUERIES = st.sampled_from(
    [None, "", "Is there a retry in net.py?", "Why do eggs float?", "I think the cache is broken."]
)


@given(RESPONSES, CALLS, CALL, QUERIES, st.integers(0, 5))
def test_more_evidence_never_raises_the_score_unless_it_contradicts(response, calls, more, query, at):
    before = score(response, ToolContext.from_dicts(calls), query)
    after = score(response, ToolContext.from_dicts([*calls[:at], more, *calls[at:]]), query)
    assume("claim_contradicted" not in after.signals)
    assert after.score <= before.score
    assert after.evidence >= before.evidence


CLAIMS = st.sampled_from(
    [
        "there is no retry",
        "the option does not exist anywhere",
        "all calls are checked",
        "it definitely works",
        "it works",
    ]
)
HEDGES = st.sampled_from(
    [
        "Perhaps {}.",
        "I think {}.",
        "As far as I can tell, {}.",
        "In the files I checked, {}.",
        "{}, I believe.",
    ]
)


@given(HEDGES, CLAIMS, CALLS)
def test_taking_a_hedge_away_never_lowers_the_score(hedge, claim, calls):
    context = ToolContext.from_dicts(calls)
    hedged, bare = score(hedge.format(claim), context), score(f"{claim}.", context)
    assert hedged.score <= bare.score
    assert (hedged.words or Words.HEDGED) < (bare.words or Words.HEDGED)


@given(RESPONSES, CALLS, QUERIES)
def test_an_unrelated_question_at_the_end_changes_nothing(response, calls, query):
    context = ToolContext.from_dicts(calls)
    before = score(response, context, query)
    after = score(f"{response} Shall I look at the session_token or at port 8443 as well?", context, query)
    assert (after.score, after.rule, after.evidence, after.signals, after.spans, after.escalate) == (
        before.score,
        before.rule,
        before.evidence,
        before.signals,
        before.spans,
        before.escalate,
    )


@given(st.text(max_size=200), CALLS, st.none() | st.text(max_size=60))
def test_any_text_is_scored_with_offsets_into_it(response, calls, query):
    found = score(response, ToolContext.from_dicts(calls), query)
    assert 0 <= found.score <= 3
    assert (found.sya is None) == (query is None)
    assert found.score == max((s.score for s in found.sentences), default=0)
    assert (found.rule == "nothing_asserted") == (found.words is None)
    for sentence in found.sentences:
        assert response[sentence.start : sentence.end] == sentence.text != ""
        for span in sentence.spans:
            assert response[span.start : span.end] == span.text != ""
            assert sentence.start <= span.start < span.end <= sentence.end
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


# ----------------------------------------------------------------------------------------- input, form and time


@pytest.mark.parametrize(
    ("response", "context", "query", "message"),
    [
        (None, NOTHING, None, "response: got None; allowed: a text"),
        (3, NOTHING, None, "response: got 3"),
        (b"x", NOTHING, None, "response: got b'x'"),
        ("x", [], None, r"tool_context: got \[\]; allowed: a ToolContext"),
        ("x", None, None, "tool_context: got None"),
        ("x", NOTHING, 3, "query: got 3; allowed: a text or None"),
    ],
)
def test_what_is_no_text_is_refused(response, context, query, message):
    with pytest.raises(AdequacyError, match=message):
        score(response, context, query)


def test_the_score_as_plain_values():
    told = score("There is no retry.", NOTHING).to_dict()
    span = {"start": 0, "end": 11, "text": "There is no", "kind": "strong_negative"}
    assert told == {
        "score": 3,
        "rule": "definitive/none",
        "words": "definitive",
        "evidence": "none",
        "signals": ["no_tool_call"],
        "spans": [span],
        "sentences": [
            {
                "start": 0,
                "end": 18,
                "text": "There is no retry.",
                "words": "definitive",
                "score": 3,
                "spans": [span],
            }
        ],
        "strong_negative": True,
        "escalate": True,
        "sya": None,
    }


def test_the_sentence_with_the_highest_score_decides_and_the_first_of_equals():
    found = score("It works. There is no retry. There is no cache.", NOTHING)
    assert [s.score for s in found.sentences] == [2, 3, 3]
    assert found.spans == found.sentences[1].spans


SEEDED = """
import json
from solvent.adequacy.heuristic import score
from solvent.adequacy.tools import ToolContext
calls = [{"name": n, "arguments": {"path": n, "b": 1, "a": [2]}, "result": f"{n} kept 4096 rows for Dolan"}
    for n in "xyz"]
texts = ["There is no retry for Dolan, perhaps.", "All 4096 rows are kept; it never fails.", "In x:\\n- it is missing"]
print(json.dumps([score(t, ToolContext.from_dicts(calls), "I think x is missing?").to_dict() for t in texts]))
"""


def test_the_score_is_the_same_whatever_the_hash_seed(monkeypatch):
    told = set()
    for seed in ("0", "1"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        told.add(execute_python(SEEDED).succeeded())
    assert len(told) == 1
    assert json.loads(told.pop())


def test_the_core_loads_none_of_the_heavy_packages():
    code = "import sys, solvent.adequacy.heuristic as h; h.score('x', h.ToolContext()); print(*sorted(sys.modules))"
    loaded = {name.partition(".")[0] for name in execute_python(code).succeeded().split()}
    assert loaded.isdisjoint({"torch", "httpx", "sklearn", "pydantic", "typer"})


LENGTH = 30_000
REPEATED = {
    "prose": "The option does not exist, but there may be another in auth.py. ",
    "beliefs": "I think the bug is in auth, ",
    "statements": "The bug is in auth. ",
    "not": "not ",
    "no": "no ",
    "there is": "there is ",
    "fillers": "does actually ",
    "if": "if ",
    "commas": "a, ",
    "semicolons": "a; ",
    "in": "in ",
    "capitals": "DOES NOT EXIST ",
    "quotes": '"a ',
    "lines": "a:\n",
    "items": "- is missing\n",
    "headings": "# may\n",
    "questions": "is it? ",
    "numbers": "1.5 ",
    "ideographs": "\u4e2d\u3002",
    "braces": '{"a":[',
    "address": "http://a.b/c?d=e&",
}


@pytest.mark.parametrize("kind", list(REPEATED))
def test_a_long_response_with_its_like_as_query_and_result_takes_bounded_time(kind):
    text = (REPEATED[kind] * LENGTH)[:LENGTH]
    context = ToolContext.from_dicts([call("Bash", text, command=text)])
    start = time.process_time()
    found = score(text, context, text)
    assert time.process_time() - start < 4.0
    assert isinstance(found, Adequacy)


def test_noise_takes_bounded_time():
    rng = random.Random(0)
    signs = "abcdefg      .,;:?!'\"`-*\n\t\u2019\u00e9\u4e2d\U0001f600()|>#"
    text = "".join(rng.choice(signs) for _ in range(LENGTH))
    start = time.process_time()
    score(text, ToolContext.from_dicts([call("Read", text, path=text)]), text)
    assert time.process_time() - start < 4.0


def test_many_calls_take_bounded_time():
    calls = [call("Read", f"row {i} of the table", path=f"file{i}") for i in range(5000)]
    start = time.process_time()
    assert score("Row 7 is of the table.", ToolContext.from_dicts(calls)).evidence == Evidence.AMPLE
    assert time.process_time() - start < 15.0


@pytest.mark.parametrize("fact", ["The service depends on Redis.", "The file can be deleted."])
def test_what_something_needs_or_allows_is_no_hedge(fact):
    assert score(fact, ToolContext()).words is Words.PLAIN


@pytest.mark.parametrize(
    "hedged", ["It depends.", "Depending on the load it fails.", "That depends on the load."]
)
def test_what_depends_is_hedged(hedged):
    assert score(hedged, ToolContext()).words in (Words.HEDGED, None)
