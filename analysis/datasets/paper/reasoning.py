"""Data sets with a number or a letter as the answer: GSM8k and MMLU."""

from analysis.datasets.example import Example
from analysis.datasets.paper.paper_set import Form, PaperSet, PromptOptions, Row, question_of, text_of, texts_of
from rauq.errors import InvalidInput

SOLVED = (
    (
        "A shelf holds 3 rows of 8 books. Lena takes 5 books home. How many books are left on the shelf?",
        "The shelf holds 3 * 8 = 24 books. After Lena takes 5 there are 24 - 5 = 19. The answer is 19.",
    ),
    (
        "A train ticket costs 14 euros and a bus ticket half as much. What do two train tickets and a bus ticket cost?",
        "A bus ticket costs 14 / 2 = 7 euros and two trains 2 * 14 = 28, together 28 + 7 = 35. The answer is 35.",
    ),
    (
        "Omar saves 6 coins every day for 2 weeks and then spends a third of them. How many coins does he keep?",
        "He saves 6 * 14 = 84 coins, spends 84 / 3 = 28 and keeps 84 - 28 = 56. The answer is 56.",
    ),
    (
        "A baker makes 120 rolls, sells 85 in the morning and 40% of the rest in the afternoon. How many remain?",
        "At noon 120 - 85 = 35 are left. Then 35 * 0.4 = 14 are sold, and 35 - 14 = 21 remain. The answer is 21.",
    ),
    (
        "Mia is 4 years older than Jon. In 6 years the sum of their ages will be 40. How old is Jon now?",
        "Now the sum is 40 - 2 * 6 = 28. Without Mia's 4 more years it is 24, so Jon is 24 / 2 = 12. The answer is 12.",
    ),
)

_GSM8K = Form(
    base="Word problems, solved step by step.",
    instruct=(
        "Solve the last problem step by step on one line, as in the examples, and end with: The answer is, and the "
        "number."
    ),
    given="Problem",
    wanted="Solution",
)


def gsm8k_example(row: Row, asking: PromptOptions) -> Example:
    r"""GSM8k (Cobbe et al., 2021): grade school word problems; the number behind #### is the answer.

    {"question": "Weng earns $12 an hour for babysitting. Yesterday, she did 50 minutes ... How much did she earn?",
     "answer": "Weng earns 12/60 = $<<12/60=0.2>>0.2 per minute.\nWorking 50 minutes, she earned ...\n#### 10"}

    Five problems of our own are solved first, step by step on one line, so that a base model stops after its answer.
    """
    problem = text_of(row, "question")
    _, mark, number = text_of(row, "answer").rpartition("####")
    if not mark:
        message = "'answer' has no #### before its number."
        raise InvalidInput(message)
    return question_of(asking, _GSM8K, problem, (number.strip().replace(",", ""),), solved=SOLVED)


GSM8K = PaperSet(
    id="gsm8k",
    title="GSM8k",
    task="QA",
    hub_id="openai/gsm8k",
    config="main",
    split="test",
    n_shot=5,
    size=1319,
    max_new_tokens=256,
    quality="accuracy",
    columns=("question", "answer"),
    example=gsm8k_example,
)


LETTERS = "ABCD"

_MMLU = Form(
    base="Multiple choice questions about {subject}, each answered with its letter.",
    instruct="Answer the last question about {subject} with the letter of the right choice, and nothing else.",
)


def mmlu_example(row: Row, asking: PromptOptions) -> Example:
    """MMLU (Hendrycks et al., 2021): multiple choice in 57 subjects; the answer is a letter.

    {"question": "Find the degree for the given field extension Q(sqrt(2)) over Q.", "subject": "abstract_algebra",
     "choices": ["0", "4", "2", "6"], "answer": 2}
    """
    subject = text_of(row, "subject").replace("_", " ")
    form = Form(base=_MMLU.base.format(subject=subject), instruct=_MMLU.instruct.format(subject=subject))
    solved = [(_asked(shot), _letter(shot)) for shot in asking.solved]
    return question_of(asking, form, _asked(row), (_letter(row),), solved=solved, stratum=subject)


def _asked(row: Row) -> str:
    choices = texts_of(row, "choices")
    if len(choices) != len(LETTERS):
        message = f"'choices' holds {len(choices)}; {len(LETTERS)} are needed."
        raise InvalidInput(message)
    listed = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=True)]
    return "\n".join([text_of(row, "question"), *listed])


def _letter(row: Row) -> str:
    answer = row.get("answer")
    if not isinstance(answer, int) or not 0 <= answer < len(LETTERS):
        message = f"'answer' is {answer!r:.40}; a number from 0 to {len(LETTERS) - 1} is needed."
        raise InvalidInput(message)
    return LETTERS[answer]


MMLU = PaperSet(
    id="mmlu",
    title="MMLU",
    task="QA",
    hub_id="cais/mmlu",
    config="all",
    split="test",
    few_shot_split="dev",
    n_shot=5,
    shared="subject",
    size=2000,
    max_new_tokens=3,
    quality="accuracy",
    columns=("question", "subject", "choices", "answer"),
    example=mmlu_example,
)
