"""P(True): a model is asked whether its own answer is true."""

from collections.abc import Callable

from rauq.model.language_model import LanguageModel

_P_TRUE_PROMPT = (
    "Question: {question}\n Possible answer:{answer}\n "
    "Is the possible answer:\n (A) True\n (B) False\n The possible answer is:"
)
_TRUE = "True"


def p_true_judge(lm: LanguageModel, *, chat: bool | None = None) -> Callable[[str, str], float]:
    """A judge for `rauq.Judges(p_true=...)`: question and answer to log p("True") in nats, in one forward pass each.

    The model is asked, in a second prompt, whether an answer is true (Kadavath et al., 2022).

    The prompt is that of lm-polygraph to the letter, and so is the word, without a space before it; where a tokenizer
    splits it, the log-probabilities of its tokens add up. lm-polygraph refuses such a tokenizer. `chat` is that of
    `LanguageModel.read`: by default a model with a chat template, if it is an instruct model, gets a message.

    Raises, when asked:
        InvalidInput: the prompt is longer than the context.
        NonFiniteLogits, OutOfMemory: as `LanguageModel.read`.

    Example:
        >>> judge = rauq.p_true_judge(rauq.load_model("atlas"))
        >>> judge("In which country is Kyoto?", "Japan") < 0
        True
    """

    def judge(question: str, answer: str) -> float:
        prompt = _P_TRUE_PROMPT.format(question=question, answer=answer)
        return float(lm.read(prompt, _TRUE, chat=chat).logprobs.sum())

    return judge
