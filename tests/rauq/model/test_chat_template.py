"""Conversations as token ids, and texts to which a chat template was applied already."""

import pytest

from rauq.errors import InvalidInput
from rauq.model.context import encode_prompt
from rauq.model.templated import is_templated
from rauq.model.templates.template import write
from rauq.model.tokens import Tokens
from rauq.trace.messages import Message, option_names
from tests.architectures import VOCABULARY, byte_tokenizer
from tests.chat_templates import CHATML, DEEPSEEK, GEMMA, LLAMA2, LLAMA3, TEMPLATES, chat_tokenizer

QUESTION = [{"role": "user", "content": "Hi"}]
CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    *QUESTION,
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Who?"},
]
BEGINS = pytest.mark.parametrize("adds_begin", [False, True], ids=["plain", "adds begin"])


def tokens_of(template, **options):
    return Tokens(chat_tokenizer(template, **options))


def encoded(tokens, prompt, *, chat=None, instruct=True, **options):
    options |= {"vocab_size": len(tokens.tokenizer)}
    return encode_prompt(tokens, prompt, chat=chat, instruct=instruct, **options)


def conversation_for(template):
    return CONVERSATION if template.takes_system else CONVERSATION[1:]


@BEGINS
@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_messages_become_what_the_template_writes(template, adds_begin):
    tokens = tokens_of(template, adds_begin=adds_begin)
    prompt = encoded(tokens, conversation_for(template))
    assert tokens.text(prompt.ids) == template.text
    assert (prompt.text, prompt.form, prompt.chat_applied) == ("Who?", "messages", True)
    assert [(part.role, part.content) for part in prompt.messages] == [
        (part["role"], part["content"]) for part in conversation_for(template)
    ]
    assert encoded(tokens, list(prompt.messages), chat=True) == prompt


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_one_message_of_the_user_is_what_plain_text_becomes(template):
    tokens = tokens_of(template)
    assert encoded(tokens, QUESTION).ids == encoded(tokens, "Hi").ids
    assert tokens.text(encoded(tokens, "Hi").ids) == template.plain
    assert encoded(tokens, "Hi").form == "text"


@BEGINS
@pytest.mark.parametrize("kind", ["instruct", "base"])
@pytest.mark.parametrize("whole", [True, False], ids=["conversation", "question"])
@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_a_templated_text_has_the_ids_of_its_messages(template, whole, kind, adds_begin):
    tokens = tokens_of(template, adds_begin=adds_begin)
    text = template.text if whole else template.plain
    messages = conversation_for(template) if whole else QUESTION
    if whole and template is DEEPSEEK:  # a system message without a mark of its own tells it from no other text
        text, messages = text.replace("Be brief.", ""), messages[1:]
    prompt = encoded(tokens, text, instruct=kind == "instruct")
    assert (prompt.form, prompt.chat_applied, prompt.text) == ("templated", False, text)
    assert prompt.ids == encoded(tokens, messages).ids


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_white_space_around_a_templated_text_changes_nothing_about_it(template):
    assert is_templated(tokens_of(template), f"\n {template.plain.rstrip()}")


@pytest.mark.parametrize("template", [CHATML, LLAMA3, GEMMA], ids=str)
def test_an_answer_that_has_begun_and_a_missing_begin_token_change_nothing_about_it(template):
    assert is_templated(tokens_of(template), f"{template.text}The answer is")
    assert is_templated(tokens_of(template), template.plain.removeprefix("<s>"))


def test_a_templated_text_with_another_date_or_system_prompt_is_recognised():
    tokens = tokens_of(LLAMA3)
    assert is_templated(tokens, LLAMA3.text.replace("Monday", "Friday"))
    assert is_templated(tokens_of(CHATML), CHATML.plain.replace("You are helpful.", "You are a poet."))
    assert is_templated(tokens_of(CHATML), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


MENTIONS = (
    "What does <|im_start|> mean?",
    "<|im_start|>",
    "<|im_start|> opens a turn and <|im_end|> ends it.",
    "<|im_start|>user is how a turn begins, isn't it?",
    f"Explain this prompt:\n{CHATML.plain}",
    "<|User|> and <|Assistant|> are marks.",
    "<s>",
    "<s>Hi",
    "</s>",
    "[INST] is no special token here [/INST]",
    "user\nHi",
    "Hi",
)


@pytest.mark.parametrize("text", MENTIONS)
@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_a_text_that_mentions_marks_is_plain(template, text):
    tokens = tokens_of(template)
    assert not is_templated(tokens, text)
    assert encoded(tokens, text).chat_applied


@pytest.mark.parametrize("other", TEMPLATES, ids=str)
@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_a_text_of_another_model_is_plain(template, other):
    assert is_templated(tokens_of(template), other.plain) == (template is other)


def test_what_the_user_says_about_the_template_counts():
    tokens = tokens_of(CHATML)
    again = encoded(tokens, CHATML.plain, chat=True)
    assert (again.form, again.chat_applied) == ("text", True)
    assert tokens.text(again.ids) == CHATML.plain.replace("Hi", CHATML.plain)
    as_it_is = encoded(tokens, CHATML.plain, chat=False)
    assert (as_it_is.form, as_it_is.ids) == ("templated", encoded(tokens, CHATML.plain).ids)


def test_without_a_template_no_text_is_templated():
    tokens = Tokens(byte_tokenizer())
    assert not is_templated(tokens, LLAMA2.plain)
    assert not is_templated(tokens, CHATML.plain)


@BEGINS
def test_a_begin_token_in_a_text_comes_once(adds_begin):
    tokens = tokens_of(GEMMA, adds_begin=adds_begin)
    begin = tokens.tokenizer.bos_token_id
    for prompt, count in (("Hi", adds_begin), ("<s>Hi", 1), ("<s><s>Hi", 2 + adds_begin)):
        assert list(encoded(tokens, prompt, chat=False).ids).count(begin) == count


def test_an_option_reaches_the_template():
    tokens = tokens_of(CHATML)
    off = encoded(tokens, "Hi", template_options={"enable_thinking": False})
    assert tokens.text(off.ids) == f"{CHATML.plain}<think>\n\n</think>\n\n"
    assert off.template_options == {"enable_thinking": False}
    assert encoded(tokens, "Hi", template_options={"enable_thinking": True}).ids == encoded(tokens, "Hi").ids
    assert (
        encoded(tokens, CONVERSATION, template_options={"enable_thinking": False}).ids
        != encoded(tokens, CONVERSATION).ids
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"enable_thinkng": False}, "no option enable_thinkng; its options are enable_thinking. Leave it out"),
        ({"role": "user"}, "no option role"),  # which the template only mentions
        ({"messages": "x"}, "messages is reserved"),
        ({"add_generation_prompt": False}, "add_generation_prompt is reserved"),
        ({"tokenize": True}, "tokenize is reserved"),
        ({"bos_token": "x"}, "bos_token is reserved"),
        ({"enable_thinking": None}, "Got None for the template option enable_thinking; give text"),
        ({"enable_thinking": [1]}, r"Got \[1\] for"),
        ({"enable_thinking": float("nan")}, "Got nan for"),
        ({"enable_thinking": "\ud800"}, "not valid Unicode"),
        ({"not a name": 1}, "template option 'not a name'"),
        ({1: 1}, "template option 1"),
        ([("enable_thinking", False)], "template_options of type list"),
        ("enable_thinking", "template_options of type str"),
    ],
)
def test_options_that_cannot_be_used_are_named(options, says):
    with pytest.raises(InvalidInput, match=says):
        encoded(tokens_of(CHATML), "Hi", template_options=options)


@pytest.mark.parametrize(
    ("template", "names"),
    [
        (None, ()),
        ("", ()),
        ("{% for", ()),
        (CHATML.source, ("enable_thinking",)),
        (LLAMA3.source, ("today",)),
        (LLAMA2.source, ()),  # it sets two variables of its own in each branch
        ("{% if not enable_thinking is defined %}{% set enable_thinking = true %}{% endif %}{{ enable_thinking }}",
         ("enable_thinking",)),
        ("{% set effort = effort | default('low') %}{{ effort }}", ("effort",)),
        ("{{ strftime_now('%d') }}{{ raise_exception('no') }}{{ namespace(a=1) }}{{ range(3) }}{{ dict() }}", ()),
        ("{{ messages }}{{ tools }}{{ bos_token }}{% generation %}{{ b }}{{ a }}{% endgeneration %}", ("a", "b")),
        ("{% for one in messages %}{% if one is defined %}{% break %}{% endif %}{{ one.thinking }}{% endfor %}", ()),
        ({"default": "{{ a }}", "other": "{{ b }}"}, ("a",)),
        ({"other": "{{ b }}"}, ("b",)),  # the only one
        ({"other": "{{ b }}", "third": "{{ c }}"}, ()),
    ],
    ids=str,
)  # fmt: skip
def test_the_options_of_a_template_are_the_variables_that_it_does_not_set(template, names):
    assert option_names(template) == names


@pytest.mark.parametrize("prompt", [CHATML.plain, [5, 6], "Hi"], ids=["templated", "ids", "base"])
def test_options_for_a_template_that_is_not_applied_are_refused(prompt):
    with pytest.raises(InvalidInput, match="to which no chat template is applied"):
        encoded(tokens_of(CHATML), prompt, instruct=False, template_options={"enable_thinking": False})


@pytest.mark.parametrize(
    ("template", "prompt", "says"),
    [
        (GEMMA, CONVERSATION, r"fails \(System role not supported\).*Leave out the system prompt, or put its text"),
        (
            GEMMA,
            [*QUESTION, *QUESTION],
            r"fails \(Conversation roles must alternate\).*user and assistant messages in turn",
        ),
    ],
)
def test_a_refusal_of_the_template_is_reported(template, prompt, says):
    with pytest.raises(InvalidInput, match=says):
        encoded(tokens_of(template), prompt)


def test_a_template_that_leaves_out_a_message_is_reported():
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = "{{ messages[-1].content }}"
    with pytest.raises(InvalidInput, match="leaves out or changes a message of role system"):
        encoded(Tokens(tokenizer), CONVERSATION)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (None, "has no chat template, which messages"),
        ("{% for", "chat template of this tokenizer fails .*kind: base"),
        ("{{ raise_exception('system first') }}", "fails .system first.*kind: base"),
        ("{{ 'a' + 1 }}", "chat template of this tokenizer fails"),
    ],
)
def test_a_chat_template_that_fails_is_reported(template, says):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    with pytest.raises(InvalidInput, match=says):
        write(tokenizer, [Message(role="user", content="Where?")], {})
    assert not is_templated(Tokens(tokenizer), "<s>Where?")


def test_messages_need_a_chat_template_and_leave_to_apply_it():
    plain = Tokens(byte_tokenizer())
    with pytest.raises(InvalidInput, match="no chat template, which messages"):
        encode_prompt(plain, CONVERSATION, chat=None, instruct=False, vocab_size=VOCABULARY)
    with pytest.raises(InvalidInput, match="messages with chat=False"):
        encoded(tokens_of(CHATML), CONVERSATION, chat=False)
