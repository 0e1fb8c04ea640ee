"""Whatever form a chat template takes messages in, the model sees all of their text, or there is an error."""

import html
import json

import pytest

from rauq.errors import InvalidInput
from rauq.model.context import encode_prompt
from rauq.model.tokens import Tokens
from tests.chat_templates import CHATML, LLAMA3, TEMPLATES, chat_tokenizer
from tests.template_forms import CALL, CHANGING, CONTENT_FORMS, TOOL_FORMS, TOOL_TALK, chatml, tokenizer_of

AWKWARD = (
    "User",
    "user",
    "a",
    "0",
    "Assistant:",
    'Is 2 < 3 & "4" > 3?',
    "  two\r\nlines\u2028 ",
    "\ue000",
    "Ünï\tcode",
)
PARTS = [{"type": "text", "text": "One."}, {"type": "input_text", "text": "Two?"}]
QUESTION = {"role": "user", "content": "Hi"}


def encoded(source, prompt, **options):
    tokens = Tokens(tokenizer_of(source))
    found = encode_prompt(tokens, prompt, chat=None, instruct=True, vocab_size=len(tokens.tokenizer), **options)
    return found, tokens.text(found.ids)


@pytest.mark.parametrize("form", CONTENT_FORMS, ids=str)
def test_a_prompt_and_its_parts_are_written_as_the_template_writes_them(form):
    found, text = encoded(form.source, "Hi")
    assert (text, found.chat_applied, found.form) == (form.plain, True, "text")
    assert [form.says in note for note in found.notes] == ([True] if form.says else [])
    for content in ([{"type": "text", "text": "Hi"}], ["Hi"]):
        assert encoded(form.source, [{"role": "user", "content": content}])[1] == form.plain
    several, text = encoded(form.source, [{"role": "user", "content": PARTS}])
    assert (text, several.text, several.messages[0].parts) == (form.parts, "One.\nTwo?", ("One.", "Two?"))
    assert ("joined" in several.notes[0]) == ("One.Two?" not in text and "One. Two?" not in text and not form.says)
    assert encoded(form.source, several.messages)[0] == several


@pytest.mark.parametrize("prompt", AWKWARD)
@pytest.mark.parametrize("form", CONTENT_FORMS, ids=str)
def test_a_text_is_never_mistaken_for_one_of_the_template(form, prompt):
    found, text = encoded(form.source, prompt)
    before, _, after = form.plain.partition("Hi")
    assert text.startswith(before)
    written = text.removeprefix(before).removesuffix(after)
    read = {"json": lambda said: json.loads(f'"{said}"'), "html": html.unescape}.get(form.name, str)
    assert read(written).strip() == prompt.strip()
    assert any("escapes" in note for note in found.notes) == (prompt.strip() not in text)


@pytest.mark.parametrize("form", CONTENT_FORMS, ids=str)
def test_every_message_of_a_conversation_is_written(form):
    said = {"system": "Be brief.", "user": "Hi there", "assistant": "Hello", "": "Who?"}
    talk = [{"role": role or "user", "content": text} for role, text in said.items()]
    found, text = encoded(form.source, talk)
    assert all(part in text for part in said.values())
    assert "type" not in text
    assert found.text == "Who?"


@pytest.mark.parametrize(("name", "source"), CHANGING, ids=lambda value: value if "{" not in value else "")
def test_a_template_that_leaves_out_or_changes_a_text_is_refused(name, source):
    with pytest.raises(InvalidInput, match=r"leaves out or changes the text of the prompt.*kind: base") as refused:
        encoded(source, "What is <think>?\nTELL")
    assert "given" in str(refused.value), name
    with pytest.raises(InvalidInput, match=r"a message of role user \(message 0, counted from 0\)"):
        encoded(source, [{"role": "user", "content": "<think>TELL"}, {"role": "assistant", "content": "ok"}, QUESTION])


def test_an_answer_that_a_template_leaves_out_is_noticed():
    source = chatml("{{ message.content if message.role != 'assistant' }}")
    talk = [QUESTION, {"role": "assistant", "content": "assistant"}, QUESTION]
    with pytest.raises(InvalidInput, match=r"a message of role assistant \(message 1"):
        encoded(source, talk)
    cut = chatml("{{ message.content.split('</think>')[-1] }}")
    talk[1] = {"role": "assistant", "content": "<think>long</think>Hello"}
    assert "Hello" in encoded(cut, talk)[1]
    assert "long" not in encoded(cut, talk)[1]


@pytest.mark.parametrize("form", TOOL_FORMS, ids=str)
@pytest.mark.parametrize("arguments", [None, {"city": "Ålesund"}], ids=["text", "record"])
def test_calls_of_tools_and_their_results_are_written_or_refused(form, arguments):
    talk = [dict(message) for message in TOOL_TALK]
    if arguments:
        talk[1]["tool_calls"] = [CALL | {"function": {"name": "weather", "arguments": arguments}}]
    if form.says:
        with pytest.raises(InvalidInput, match=form.says):
            encoded(form.source, talk)
        return
    found, text = encoded(form.source, talk)
    assert (text, found.text, found.form) == (form.text, '{"mm": 3}', "messages")


TOOLS = TOOL_FORMS[0].source  # it writes neither the ids of calls nor names of results


@pytest.mark.parametrize(
    ("place", "changes", "says"),
    [
        (1, {"tool_calls": [CALL, CALL | {"function": {"name": "wind", "arguments": "{}"}}]}, ""),
        (1, {"content": "Let me look."}, ""),
        (1, {"refusal": None, "annotations": [], "audio": None, "function_call": {}}, ""),
        (2, {"name": "weather"}, ""),
        (2, {"name": "wind"}, r"not use the field name of message 2 \(counted from 0\), of role tool"),
        (2, {"tool_call_id": "call00002"}, "not use the field tool_call_id of message 2"),
        (0, {"name": "Ann"}, "not use the field name of message 0"),
        (1, {"reasoning_content": "Hm."}, "not use the field reasoning_content of message 1"),
        (1, {"thinking": "Hm."}, "not use the field thinking of message 1"),
        (1, {"function_call": {"name": "f", "arguments": "{}"}}, "not use the field function_call of message 1"),
        (0, {"role": "developer"}, ""),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_field_that_the_template_does_not_write_is_named(place, changes, says):
    talk = [dict(message) | (changes if at == place else {}) for at, message in enumerate(TOOL_TALK)]
    if says:
        with pytest.raises(InvalidInput, match=says):
            encoded(TOOLS, talk)
    else:
        assert "weather" in encoded(TOOLS, talk)[1]


def test_a_field_is_written_of_every_message_that_has_it():
    said = [{"role": "user", "name": name, "content": "Hi"} for name in ("Ann", "Bob", "Cy")]
    everywhere = chatml("{{ message.name }}: {{ message.content }}")
    assert all(f"{name}: Hi" in encoded(everywhere, said)[1] for name in ("Ann", "Bob", "Cy"))
    for loop, place in (("loop.first", 1), ("not loop.first", 0), ("loop.index != 2", 1)):
        source = chatml(f"{{{{ message.name if {loop} }}}}: {{{{ message.content }}}}")
        with pytest.raises(InvalidInput, match=f"not use the field name of message {place} .*of role user"):
            encoded(source, said)


def test_results_in_another_order_need_their_ids():
    calls = [CALL, CALL | {"id": "call00002"}]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": call["id"]} for call in calls]
    talk = [TOOL_TALK[0], {"role": "assistant", "content": None, "tool_calls": calls}]
    assert encoded(TOOLS, [*talk, *results])[1].count("<user>call0000") == 2
    with pytest.raises(InvalidInput, match="not use the field tool_call_id of message 2"):
        encoded(TOOLS, [*talk, *results[::-1]])


def test_only_the_first_of_several_calls_is_noticed():
    first = TOOLS.replace("message.tool_calls %}{%", "message.tool_calls[:1] %}{%")
    other = CALL | {"function": {"name": "wind", "arguments": "{}"}}
    encoded(first, TOOL_TALK)
    with pytest.raises(InvalidInput, match=r"leaves out or changes the calls in a message of role assistant"):
        encoded(first, [TOOL_TALK[0], {**TOOL_TALK[1], "tool_calls": [CALL, other]}, TOOL_TALK[2]])


TRIP = {"city": "Oslo", "days": 3, "wet": True, "by": [{"km": 2.5}, None, "train"]}


def called(source, arguments):
    calls = [{"id": "call00001", "function": {"name": "trip", "arguments": arguments}}]
    talk = [{"role": "user", "content": "A trip to Oslo?"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    return encoded(source, [*talk, {"role": "tool", "tool_call_id": "call00001", "content": "ok"}])[1]


@pytest.mark.parametrize("form", [form for form in TOOL_FORMS if form.text], ids=str)
@pytest.mark.parametrize("as_text", [False, True], ids=["record", "text"])
def test_texts_numbers_and_booleans_of_a_call_are_written(form, as_text):
    text = called(form.source, json.dumps(TRIP) if as_text else TRIP)
    assert all(part in text for part in ("Oslo", "3", "2.5", "train"))
    assert "true" in text.lower()


def _each_argument(written, condition=""):
    return f"{{% for _, v in call.arguments.items() {condition} %}}{{{{ {written} }}}}{{% endfor %}}"


@pytest.mark.parametrize("depth", [99, 400, 5000])
def test_arguments_that_are_nested_deeply_are_written_as_text(depth):
    arguments = '{"a":' + depth * "[" + "3" + depth * "]" + "}"
    assert arguments[:50] in called(TOOLS.replace(" | tojson", ""), arguments)


# Arguments as a template may write them, and whether it leaves out one of TRIP.
ARGUMENTS = {
    "{{ call.arguments | tojson }}": False,
    "{{ call.arguments.items() | list | tojson }}": False,
    _each_argument("'yes' if v is true else 'no' if v is false else v | tojson"): False,
    _each_argument("v | tojson | replace('3', 'three')"): False,
    "{{ call.arguments.city }}": True,
    "{{ call.arguments.city }} {{ call.arguments.by | tojson }}": True,
    _each_argument("v | tojson", "if v is string or v is number"): True,
    _each_argument("v | tojson", "if v is not boolean"): True,
    _each_argument("v | tojson", "if v is not integer"): True,
    _each_argument("v | tojson", "if v is not float"): False,
    _each_argument("v if v is string or v is integer or v is boolean else v[2]"): True,
    # The question has the city too.
    "{{ call.arguments.days }} {{ call.arguments.wet }} {{ call.arguments.by | tojson }}": True,
}


@pytest.mark.parametrize(("written", "leaves_out"), ARGUMENTS.items())
def test_an_argument_that_a_template_leaves_out_is_noticed(written, leaves_out):
    source = TOOLS.replace("{{ call.arguments | tojson }}", written)
    if leaves_out:
        with pytest.raises(InvalidInput, match=r"leaves out or changes the calls in a message of role assistant"):
            called(source, TRIP)
    else:
        assert "Oslo" in called(source, TRIP)


def test_thinking_of_earlier_answers_may_be_left_out_by_a_template_that_knows_it():
    source = chatml("{% if loop.last %}{{ message.reasoning_content }}{% endif %}{{ message.content }}")
    talk = [QUESTION, {"role": "assistant", "content": "Hello", "reasoning_content": "Greet."}, QUESTION]
    found, text = encoded(source, talk)
    assert "Greet." not in text
    assert found.messages[1].fields == {"reasoning_content": "Greet."}


@pytest.mark.parametrize("role", ["tool", "developer"])
def test_a_role_that_is_written_as_another_is_refused(role):
    source = chatml("{{ message.content }}").replace(
        "{{ message.role }}", "{{ message.role if message.role == 'assistant' else 'user' }}"
    )
    with pytest.raises(
        InvalidInput, match=f"does not know the role {role}: it writes such a message as one of role user"
    ):
        encoded(source, [{"role": role, "content": "3"}, QUESTION])
    assert f"<|im_start|>{role}" in encoded(CHATML.source, [{"role": role, "content": "3"}, QUESTION])[1]


def test_of_several_templates_the_default_one_is_applied():
    other = "{{ raise_exception('not this one') }}"
    for templates in ({"default": CHATML.source, "tool_use": other}, {"chat": CHATML.source}):
        assert encoded(templates, "Hi")[1] == CHATML.plain
    with pytest.raises(InvalidInput, match=r"several chat templates, rag, tool_use, and none of them is the default"):
        encoded({"tool_use": CHATML.source, "rag": CHATML.source}, "Hi")


# Prompts that have their template already, with other line ends.
ENDS = {"Windows": "\r\n", "old Mac": "\r", "line separator": "\u2028", "paragraph": "\u2029", "next line": "\x85"}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_a_templated_prompt_with_other_line_ends_is_the_same_prompt(template, end):
    tokens = Tokens(chat_tokenizer(template))
    text = template.text.replace("Be brief.", "") if template.name == "deepseek" else template.text

    def of(given):
        return encode_prompt(tokens, given, chat=None, instruct=True, vocab_size=len(tokens.tokenizer))

    plain = of(text)
    for given in (text.replace("\n", end), "\ufeff" + text.replace("\n", end), f"{end} {text.replace(chr(10), end)}"):
        found = of(given)
        assert (found.form, found.chat_applied, found.ids) == ("templated", False, plain.ids)
        assert found.text == given
        assert len(found.notes) == 1 + ("\n" in text)
    assert len(plain.notes) == 1


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_line_ends_of_the_user_stay_as_they_are_typed(end):
    tokens = Tokens(chat_tokenizer(CHATML))
    typed = CHATML.plain.replace("Hi", f"one{end}two")
    found = encode_prompt(tokens, typed, chat=None, instruct=True, vocab_size=len(tokens.tokenizer))
    assert (found.form, tokens.text(found.ids), len(found.notes)) == ("templated", typed, 1)
    plain, text = encoded(CHATML.source, f"one{end}two")
    assert (f"one{end}two" in text, plain.notes) == (True, ())


@pytest.mark.parametrize("template", [CHATML, LLAMA3], ids=str)
def test_line_ends_that_are_written_as_two_characters_are_asked_about(template):
    tokens = Tokens(chat_tokenizer(template))
    options = {"chat": None, "instruct": True, "vocab_size": len(tokens.tokenizer)}
    for end in (r"\n", r"\r\n"):
        with pytest.raises(InvalidInput, match=r"written as a backslash and the letter n\. Write real line ends"):
            encode_prompt(tokens, template.plain.replace("\n", end), **options)
    assert encode_prompt(tokens, r"What does <|im_start|>user\n mean?", **options).form == "text"
