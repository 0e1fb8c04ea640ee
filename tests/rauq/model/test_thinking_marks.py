"""The thinking marks of a model follow from its chat template and its tokens."""

import pytest

from rauq.model.context import encode_prompt
from rauq.model.tokens import Tokens
from rauq.trace.thinking import USUAL_MARKS, Marks, thinking_span
from tests.chat_templates import TEMPLATES, chat_tokenizer
from tests.template_forms import SINGLE_MARKS, THINKING_FORMS, UNMARKED, tokenizer_of


@pytest.mark.parametrize("form", THINKING_FORMS, ids=str)
def test_the_span_follows_the_marks_of_the_template(form):
    tokens = Tokens(tokenizer_of(form.source, form.special))
    prompt = encode_prompt(tokens, "Who?", chat=None, instruct=True, vocab_size=len(tokens.tokenizer))

    def thinking(answer):
        pieces = [tokens.piece(token) for token in tokens.encode(answer, special=False)]
        span = thinking_span([tokens.piece(token) for token in prompt.ids], pieces, tokens.thinking_marks)
        return None if span is None else b"".join(pieces[slice(*span)]).decode()

    thought = f"{form.opening}\nHm.\n{form.closing}"
    assert thinking(f"{thought}\n\nOslo") == thought
    assert thinking(f"\n{thought} Oslo").strip() == thought
    assert thinking(f"Hm.\n{form.closing} Oslo") == f"Hm.\n{form.closing}"
    assert thinking(f"Hm.{form.closing}It ends with {form.closing}.") == f"Hm.{form.closing}"
    assert thinking(f"{form.opening}Hm") == f"{form.opening}Hm"
    assert thinking("Oslo is here") == ("Oslo is here" if form.opens else None)
    if not form.opens:
        assert thinking(f"Write {thought} to think.") is None


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_a_template_without_thinking_has_the_usual_marks_alone(template):
    assert Tokens(chat_tokenizer(template)).thinking_marks == USUAL_MARKS


def test_a_template_that_begins_and_ends_the_thinking_leaves_an_answer():
    source = "{{ messages[0].content }}{% if not think %}<think>\n\n</think>\n\n{% else %}<think>{% endif %}"
    tokens = Tokens(tokenizer_of(source))
    for think in (False, True):
        prompt = encode_prompt(
            tokens, "Who?", chat=True, instruct=True, vocab_size=1000, template_options={"think": think}
        )
        pieces = [tokens.piece(token) for token in prompt.ids]
        assert thinking_span(pieces, [b"Oslo"], tokens.thinking_marks) == ((0, 1) if think else None)


@pytest.mark.parametrize("source", UNMARKED.values(), ids=UNMARKED)
def test_a_text_at_which_a_template_cuts_or_that_it_only_mentions_is_no_mark(source):
    assert Tokens(tokenizer_of(source)).thinking_marks == USUAL_MARKS


@pytest.mark.parametrize("source", SINGLE_MARKS, ids=["cuts at it", "begins with it"])
def test_a_single_mark_counts_where_the_template_acts_on_it(source):
    own = Marks(opening=frozenset({"<own:thought>"}), closing=frozenset({"</own:thought>"}))
    assert Tokens(tokenizer_of(source)).thinking_marks == USUAL_MARKS | own


@pytest.mark.parametrize(
    "answer",
    [
        *("Use [BEGIN] here", "thought", "<thinker>x", "[reasoned] so", "<b>think</b>", "a < think > b", "<|x|>"),
        *("Final answer: Oslo", "A. ASSISTANT: Oslo", "### Response:\nOslo", "[/INST] Oslo", "a <answer>Oslo</answer>"),
        *("[reasoning] Oslo", "<thoughts> Oslo"),
    ],
)
def test_what_only_resembles_a_mark_is_text(answer):
    models = [(form.source, form.special) for form in THINKING_FORMS] + [(source, ()) for source in UNMARKED.values()]
    for source, special in models:
        marks = Tokens(tokenizer_of(source, special)).thinking_marks
        assert thinking_span([b"Who?"], [answer.encode()], marks) is None
