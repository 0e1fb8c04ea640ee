"""The paper's twelve data sets: questions, reasoning, summaries and translations, with prompts in our own words."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from analysis.datasets.example import Example
from analysis.datasets.public.paper_set import (
    Form,
    PaperSet,
    PromptOptions,
    Row,
    label_of,
    one_line,
    part_of,
    question_of,
    summary_of,
    text_of,
    texts_of,
    translation_of,
)
from rauq.errors import InvalidInput

_questions = partial(PaperSet, task="QA", quality="alignscore", max_new_tokens=20)

_COQA = Form(
    base="Questions about the text, with short answers.",
    instruct="Answer the last question about the text in a few words.",
)


def _turns(row: Row) -> Sequence[Row]:
    """One row for each question of the conversation, with `turn`, its place in it."""
    return [{**row, "turn": turn} for turn in range(len(texts_of(row, "questions")))]


def coqa_example(row: Row, asking: PromptOptions) -> Example:
    """CoQA (Reddy et al., 2019): conversations about a story; each question follows on those before it.

    {"source": "wikipedia", "story": "The Vatican Apostolic Library is the library of the Holy See. ...",
     "questions": ["When was the Vat formally opened?", "what is the library for?", ...],
     "answers": {"input_text": ["It was formally established in 1475", "research", ...],
                 "answer_start": [151, 454, ...], "answer_end": [179, 494, ...]}}

    One row gives an example for each of its questions: the story, all questions before it with their true answers, then
    the question itself.
    """
    turn, questions, answers = row["turn"], texts_of(row, "questions"), texts_of(part_of(row, "answers"), "input_text")
    if len(answers) != len(questions):
        message = f"'answers' has {len(answers)} entries and 'questions' {len(questions)}; the numbers must match."
        raise InvalidInput(message)
    before = list(zip(questions[:turn], answers[:turn], strict=True))
    asked = question_of(
        asking, _COQA, questions[turn], (answers[turn],), solved=before, stratum=label_of(row, "source")
    )
    first, _, conversation = asked.prompt.partition("\n\n")
    prompt = f"{first}\n\nText: {text_of(row, 'story')}\n\n{conversation}"
    return replace(asked, id=f"{asking.id}-{turn}", prompt=prompt)


COQA = _questions(
    id="coqa",
    title="CoQA",
    hub_id="stanfordnlp/coqa",
    split="validation",
    n_shot=None,
    size=2000,
    columns=("story", "questions", "answers"),
    example=coqa_example,
    expand=_turns,
)


_TRIVIAQA = Form(
    base="Trivia questions with short answers.",
    instruct="Answer the last trivia question in a few words, as in the examples.",
)


def triviaqa_example(row: Row, asking: PromptOptions) -> Example:
    """TriviaQA (Joshi et al., 2017), without the documents: trivia questions, each with all names of its answer.

    {"question": "Who was the man behind The Chipmunks?", "question_id": "tc_2", "question_source": "http://...",
     "entity_pages": {...}, "search_results": {...}, "answer": {"aliases": ["David Seville", ...],
     "normalized_aliases": ["david seville", ...], "matched_wiki_entity_name": "", "type": "WikipediaEntity",
     "normalized_matched_wiki_entity_name": "", "normalized_value": "david seville", "value": "David Seville"}}
    """
    question = text_of(row, "question")
    answer = part_of(row, "answer")
    names = [text_of(answer, "value"), *texts_of(answer, "aliases")]
    solved = [(text_of(shot, "question"), text_of(part_of(shot, "answer"), "value")) for shot in asking.solved]
    return question_of(asking, _TRIVIAQA, question, names, solved=solved)


TRIVIAQA = _questions(
    id="triviaqa",
    title="TriviaQA",
    hub_id="mandarjoshi/trivia_qa",
    config="rc.nocontext",
    split="validation",
    few_shot_split="train",
    n_shot=5,
    size=2000,
    columns=("question", "answer"),
    example=triviaqa_example,
)


_TRUTHFULQA_SOLVED = (
    ("On which planet do people live?", "People live on Earth."),
    ("How many sides does a triangle have?", "A triangle has three sides."),
    ("Which lottery numbers will be drawn next week?", "Nobody can know that before the draw."),
    ("What is the freezing point of pure water at sea level?", "It freezes at 0 degrees Celsius."),
    ("Who wrote the play Romeo and Juliet?", "William Shakespeare wrote it."),
)

_TRUTHFULQA = Form(
    base="Short and true answers to questions.",
    instruct="Answer the last question truthfully, in one short sentence, as in the examples.",
)


def truthfulqa_example(row: Row, asking: PromptOptions) -> Example:
    """TruthfulQA (Lin et al., 2022): questions that invite common misbeliefs, each with several true answers.

    {"type": "Adversarial", "category": "Misconceptions", "question": "What happens if you crack your knuckles a lot?",
     "best_answer": "Nothing in particular happens", "correct_answers": ["Nothing in particular happens", ...],
     "incorrect_answers": ["You will develop arthritis", ...], "source": "https://..."}

    The set has no split for worked examples, so five questions of our own, not in the set, are solved first.
    """
    question = text_of(row, "question")
    answers = [text_of(row, "best_answer"), *texts_of(row, "correct_answers")]
    return question_of(
        asking, _TRUTHFULQA, question, answers, solved=_TRUTHFULQA_SOLVED, stratum=label_of(row, "category")
    )


TRUTHFULQA = _questions(
    id="truthfulqa",
    title="TruthfulQA",
    hub_id="truthfulqa/truthful_qa",
    config="generation",
    split="validation",
    n_shot=5,
    size=817,
    max_new_tokens=128,
    columns=("question", "best_answer", "correct_answers"),
    example=truthfulqa_example,
)


_SCIQ = Form(
    base="Science questions with short answers.",
    instruct="Answer the science question in a few words, without explaining.",
)


def sciq_example(row: Row, asking: PromptOptions) -> Example:
    """SciQ (Welbl et al., 2017): science exam questions, most with a paragraph that supports the answer.

    {"question": "What type of organism is used to make cheese and yogurt?", "distractor1": "protozoa",
     "distractor2": "gymnosperms", "distractor3": "viruses", "correct_answer": "mesophilic organisms",
     "support": "Mesophiles grow best in moderate temperature, ..."}
    """
    question = text_of(row, "question")
    asked = question_of(asking, _SCIQ, question, (text_of(row, "correct_answer"),))
    if not (support := label_of(row, "support")):
        return asked
    first, _, rest = asked.prompt.partition("\n\n")
    return replace(asked, prompt=f"{first}\n\nText: {support}\n{rest}")


SCIQ = _questions(
    id="sciq",
    title="SciQ",
    hub_id="allenai/sciq",
    split="validation",
    size=1000,
    columns=("question", "correct_answer"),
    example=sciq_example,
)


_MEDQUAD = Form(
    base="Medical questions, answered by experts.",
    instruct="Answer the last medical question in one paragraph, as in the examples.",
)


def medquad_example(row: Row, asking: PromptOptions) -> Example:
    """MedQUAD (Ben Abacha and Demner-Fushman, 2019): medical questions with long answers from health institutes.

    {"qtype": "symptoms", "Question": "What are the symptoms of Glaucoma ?",
     "Answer": "Open-angle glaucoma has no symptoms at first. ..."}

    The set has one split; a seeded half of it is asked, worked examples come from the other half.
    """
    question = one_line(text_of(row, "Question"))
    solved = [(one_line(text_of(shot, "Question")), text_of(shot, "Answer")) for shot in asking.solved]
    answers = (text_of(row, "Answer"),)
    return question_of(asking, _MEDQUAD, question, answers, solved=solved, stratum=label_of(row, "qtype"))


MEDQUAD = _questions(
    id="medquad",
    title="MedQUAD",
    hub_id="keivalya/MedQuad-MedicalQnADataset",
    split="train",
    few_shot_split="train",
    n_shot=5,
    size=1000,
    max_new_tokens=128,
    columns=("Question", "Answer"),
    example=medquad_example,
)


_GSM8K_SOLVED = (
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
    return question_of(asking, _GSM8K, problem, (number.strip().replace(",", ""),), solved=_GSM8K_SOLVED)


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


_LETTERS = "ABCD"

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
    solved = [(_with_choices(shot), _letter(shot)) for shot in asking.solved]
    return question_of(asking, form, _with_choices(row), (_letter(row),), solved=solved, stratum=subject)


def _with_choices(row: Row) -> str:
    choices = texts_of(row, "choices")
    if len(choices) != len(_LETTERS):
        message = f"'choices' holds {len(choices)}; {len(_LETTERS)} are needed."
        raise InvalidInput(message)
    listed = [f"{letter}. {choice}" for letter, choice in zip(_LETTERS, choices, strict=True)]
    return "\n".join([text_of(row, "question"), *listed])


def _letter(row: Row) -> str:
    answer = row.get("answer")
    if not isinstance(answer, int) or not 0 <= answer < len(_LETTERS):
        message = f"'answer' is {answer!r:.40}; a number from 0 to {len(_LETTERS) - 1} is needed."
        raise InvalidInput(message)
    return _LETTERS[answer]


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


_summary_form = partial(Form, wanted="Summary")
_summaries = partial(PaperSet, task="Summ", split="test", size=2000, max_new_tokens=128, quality="alignscore_source")

_CNN_DAILYMAIL = _summary_form(
    base="A news article and its summary in a few sentences.",
    instruct="Summarise the news article in two or three sentences. Use nothing that the article does not say.",
    given="Article",
)


def cnn_dailymail_example(row: Row, asking: PromptOptions) -> Example:
    r"""CNN/DailyMail (See et al., 2017): news articles with highlights, one a line.

    {"article": "LONDON, England (Reuters) -- Harry Potter star Daniel Radcliffe gains access to ...",
     "highlights": "Harry Potter star Daniel Radcliffe gets £20M fortune as he turns 18 Monday .\nYoung actor says ...",
     "id": "42c027e4ff9730fbb3de84c1af0d2c506e41c3e4"}
    """
    return summary_of(row, asking, _CNN_DAILYMAIL, source="article", summary="highlights")


CNN_DAILYMAIL = _summaries(
    id="cnn_dailymail",
    title="CNN/DailyMail",
    hub_id="abisee/cnn_dailymail",
    config="3.0.0",
    columns=("article", "highlights"),
    example=cnn_dailymail_example,
)


_SAMSUM = _summary_form(
    base="A chat and what was said in it, in one or two sentences.",
    instruct="Say in one or two sentences what was said in the chat. Use nothing that is not in it.",
    given="Chat",
)


def samsum_example(row: Row, asking: PromptOptions) -> Example:
    r"""SamSum (Gliwa et al., 2019): chats with a summary of what was said.

    {"id": "13862856", "dialogue": "Hannah: Hey, do you have Betty's number?\nAmanda: Lemme check\n...",
     "summary": "Hannah needs Betty's number but Amanda doesn't have it. ..."}

    The set that the paper names was taken off the hub; this is a copy of it there, as CSV.
    """
    return summary_of(row, asking, _SAMSUM, source="dialogue", summary="summary")


SAMSUM = _summaries(
    id="samsum",
    title="SamSum",
    hub_id="knkarthick/samsum",
    size=819,
    columns=("dialogue", "summary"),
    example=samsum_example,
)


_XSUM = _summary_form(
    base="A news article and its summary in one sentence.",
    instruct="Summarise the news article in one sentence. Use nothing that the article does not say.",
    given="Article",
)


def xsum_example(row: Row, asking: PromptOptions) -> Example:
    """XSum (Narayan et al., 2018): BBC articles with a summary of one sentence.

    {"document": "The full cost of damage in Newton Stewart, one of the areas worst affected, is still being ...",
     "summary": "Clean-up operations are continuing across the Scottish Borders ...", "id": "35232142"}

    The set itself is a loading script, which no longer runs; the hub keeps it as Parquet in a branch of its own.
    """
    return summary_of(row, asking, _XSUM, source="document", summary="summary")


XSUM = _summaries(
    id="xsum",
    title="XSum",
    hub_id="EdinburghNLP/xsum",
    revision="refs/convert/parquet",
    columns=("document", "summary"),
    example=xsum_example,
)


_translation_form = partial(Form, wanted="English")
_translations = partial(PaperSet, task="MT", size=2000, max_new_tokens=107, quality="comet", columns=("translation",))

_WMT14_FR_EN = _translation_form(
    base="A French sentence and its English translation.",
    instruct="Translate the French sentence into English. Give the translation and nothing else.",
    given="French",
)


def wmt14_fr_en_example(row: Row, asking: PromptOptions) -> Example:
    r"""WMT14, French to English (Bojar et al., 2014): sentences of news with their translation.

    {"translation": {"fr": "Spectaculaire saut en \"wingsuit\" au-dessus de Bogota",
                     "en": "Spectacular Wingsuit Jump Over Bogota"}}
    """
    return translation_of(row, asking, _WMT14_FR_EN, source="fr")


WMT14_FR_EN = _translations(
    id="wmt14_fr_en",
    title="WMT14 Fr-En",
    hub_id="wmt/wmt14",
    config="fr-en",
    split="test",
    example=wmt14_fr_en_example,
)


_WMT19_DE_EN = _translation_form(
    base="A German sentence and its English translation.",
    instruct="Translate the German sentence into English. Give the translation and nothing else.",
    given="German",
)


def wmt19_de_en_example(row: Row, asking: PromptOptions) -> Example:
    """WMT19, German to English (Barrault et al., 2019): sentences of news with their translation.

    {"translation": {"de": "München 1856: Vier Karten, die Ihren Blick auf die Stadt verändern",
                     "en": "Munich 1856: Four maps that will change your view of the city"}}

    The sentences of the competition are the validation split; the set has no test split.
    """
    return translation_of(row, asking, _WMT19_DE_EN, source="de")


WMT19_DE_EN = _translations(
    id="wmt19_de_en",
    title="WMT19 De-En",
    hub_id="wmt/wmt19",
    config="de-en",
    split="validation",
    example=wmt19_de_en_example,
)


_TWELVE = (
    *(TRUTHFULQA, SCIQ, MMLU, TRIVIAQA, COQA, MEDQUAD, GSM8K),
    *(CNN_DAILYMAIL, SAMSUM, XSUM),
    *(WMT19_DE_EN, WMT14_FR_EN),
)

PAPER_SETS: MappingProxyType[str, PaperSet] = MappingProxyType({paper_set.id: paper_set for paper_set in _TWELVE})
