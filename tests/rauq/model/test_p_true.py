"""P(True): the second prompt, to the letter, and the probability of the word that answers it."""

import numpy as np
import torch

from rauq import Judges, evaluate, p_true_judge
from rauq.model.loading import wrap
from tests.architectures import named, tiny_model
from tests.chat_templates import CHATML, chat_tokenizer
from tests.tiny import CONTEXT, counted

ASKED = """Question: Where is {Oslo}?
 Possible answer: In Norway
 Is the possible answer:
 (A) True
 (B) False
 The possible answer is:"""


def log_p_true(lm, asked):
    """From one plain pass: the tiny model's tokens are bytes, so the word has four."""
    word = lm.tokens.encode("True", special=False)
    with torch.inference_mode():
        logits = lm.model(input_ids=torch.tensor([[*asked, *word]])).logits[0].double().log_softmax(dim=-1)
    return sum(float(logits[len(asked) - 1 + place, token]) for place, token in enumerate(word))


def test_the_judge_gives_the_log_probability_of_the_word_after_the_prompt_in_one_pass(fresh_lm):
    expected = log_p_true(fresh_lm, fresh_lm.encode(ASKED).ids)
    passes = counted(fresh_lm)
    found = p_true_judge(fresh_lm)("Where is {Oslo}?", " In Norway")
    assert abs(found - expected) < 1e-4
    assert found < 0
    assert len(passes) == 1


def test_an_instruct_model_is_asked_in_a_message_unless_told_otherwise():
    tokenizer = chat_tokenizer(CHATML)
    model = tiny_model(named("llama"), vocab_size=len(tokenizer), max_position_embeddings=512)
    lm = wrap(model, tokenizer, name="tiny", kind="instruct")
    asked = lm.encode([{"role": "user", "content": ASKED}]).ids
    judged = {chat: p_true_judge(lm, chat=chat)("Where is {Oslo}?", " In Norway") for chat in (None, True, False)}
    assert abs(judged[None] - log_p_true(lm, asked)) < 1e-4
    assert judged[None] == judged[True] != judged[False]


def test_a_prompt_beyond_the_context_is_undefined_with_the_reason(lm):
    trace = lm.generate("Where?", max_new_tokens=3, stop=())
    judges = Judges(p_true=p_true_judge(lm))
    assert evaluate(trace, ["p_true"], judges=judges)["p_true"] > 0
    got = evaluate(trace, ["p_true"], judges=judges, question="x" * CONTEXT)["p_true"]
    assert np.isnan(got)
    assert str(CONTEXT) in got.reason
