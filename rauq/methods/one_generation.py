"""Rows of the table: methods that look at one generation alone."""

from rauq.methods import attention_score, focus, probability
from rauq.methods.claims import ccp
from rauq.methods.known_facts import with_facts
from rauq.methods.method import Method
from rauq.methods.recurrent import under
from rauq.settings import Settings

_NOTHING = "none"
_LAST_TOKEN = "one, of one token"

_FOCUS = Method(
    id="focus",
    name="Focus",
    family="one generation",
    compute=focus.focus,
    source="Zhang et al. (2023), Focus",
    cost=_NOTHING,
    needs=frozenset({"keywords", "idf"}),
    extras=("max_attention", "focus"),
)

ONE_GENERATION = (
    Method(
        id="rauq",
        name="RAUQ",
        family="one generation",
        compute=under(Settings()),
        source="the paper, Algorithm 1",
        cost=_NOTHING,
        settings=Settings(),
    ),
    Method(
        id="msp",
        name="MSP",
        family="one generation",
        compute=probability.msp,
        source="Fomicheva et al. (2020)",
        cost=_NOTHING,
    ),
    Method(
        id="perplexity",
        name="Perplexity",
        family="one generation",
        compute=probability.perplexity,
        source="Fomicheva et al. (2020)",
        cost=_NOTHING,
    ),
    Method(
        id="mean_token_entropy",
        name="Mean Token Entropy",
        family="one generation",
        compute=probability.mean_token_entropy,
        source="Fomicheva et al. (2020)",
        cost=_NOTHING,
    ),
    Method(
        id="ccp",
        name="CCP",
        family="one generation",
        compute=ccp,
        source="Fadeeva et al. (2024)",
        cost="none; the judge reads up to 18 N pairs of words",
        needs=frozenset({"nli"}),
    ),
    Method(
        id="attention_score",
        name="Attention Score",
        family="one generation",
        compute=attention_score.attention_score,
        source="Sriramanan et al. (2024), LLM-Check",
        cost=_LAST_TOKEN,
        extras=("diagonal",),
    ),
    Method(
        id="attention_score_answer",
        name="Attention Score, generated tokens",
        family="one generation",
        compute=attention_score.attention_score_answer,
        source="the paper, on LLM-Check",
        cost=_LAST_TOKEN,
        extras=("diagonal",),
    ),
    Method(
        id="attention_score_answer_head",
        name="Attention Score, generated tokens, picked head",
        family="one generation",
        compute=attention_score.attention_score_answer_head,
        source="the paper, on LLM-Check",
        cost=_LAST_TOKEN,
        extras=("diagonal",),
    ),
    _FOCUS,
    with_facts(_FOCUS),
    Method(
        id="simple_focus",
        name="Simple Focus",
        family="one generation",
        compute=focus.simple_focus,
        source="the paper, after Zhang et al. (2023)",
        cost=_NOTHING,
        extras=("max_attention",),
    ),
)
