"""Rows of the paper's data sets in the schema that the hub has, made up, and small copies as `datasets` saves them."""

import datasets
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Translation, Value

COUNT = 14

_TEXT = Value("string")


def truthfulqa(n):
    return {
        "type": "Adversarial",
        "category": ("Law", "Health")[n % 2],
        "question": f"What happens if you do it {n} times?",
        "best_answer": f"Nothing happens after {n}",
        "correct_answers": [f"Nothing happens after {n}", "Nothing at all"],
        "incorrect_answers": ["You fall ill"],
        "source": "https://example.org",
    }


def sciq(n):
    wrong = {f"distractor{place}": f"wrong {place}" for place in (1, 2, 3)}
    support = "" if n % 2 else f"Paragraph {n} on cells."
    return {"question": f"What is part {n}?", **wrong, "correct_answer": f"cell {n}", "support": support}


def mmlu(n, kinds=2):
    subject = ("abstract_algebra", "us_history")[n % kinds]
    choices = [f"first {n}", f"second {n}", f"third {n}", f"fourth {n}"]
    return {"question": f"Which is it, {n}?", "subject": subject, "choices": choices, "answer": n % 4}


def triviaqa(n):
    return {
        "question": f"Who was number {n}?",
        "question_id": f"tc_{n}",
        "question_source": "http://example.org",
        "entity_pages": {"doc_source": [], "filename": [], "title": [], "wiki_context": []},
        "search_results": {
            **{"description": [], "filename": [], "rank": [], "title": [], "url": []},
            "search_context": [],
        },
        "answer": {
            "aliases": [f"Number {n}", f"No. {n}"],
            "normalized_aliases": [f"number {n}", f"no {n}"],
            "matched_wiki_entity_name": "",
            "normalized_matched_wiki_entity_name": "",
            "normalized_value": f"number {n}",
            "type": "WikipediaEntity",
            "value": f"Number {n}",
        },
    }


def coqa(n):
    count = 1 + n % 3
    return {
        "source": "wikipedia",
        "story": f"Story {n}.\nIt is short.",
        "questions": [f"Question {n}.{turn}?" for turn in range(count)],
        "answers": {
            "input_text": [f"answer {n}.{turn}" for turn in range(count)],
            "answer_start": [0] * count,
            "answer_end": [5] * count,
        },
    }


def medquad(n):
    return {"qtype": "symptoms", "Question": f"What are  the symptoms of {n} ?", "Answer": f"Pain {n}.\n\nAnd fever."}


def gsm8k(n):
    return {"question": f"Ann has {n} apples.\nHow many?", "answer": f"She has <<{n}={n}>>{n}.\n#### 1,{n:03}"}


def cnn_dailymail(n):
    return {"article": f"LONDON -- Article {n}.", "highlights": f"Point {n} .\nMore .", "id": f"{n:040x}"}


def samsum(n):
    return {"id": str(n), "dialogue": f"Ann: Hi {n}\nBob: Hello", "summary": f"They greet {n} times."}


def xsum(n):
    return {"document": f"The cost of {n} is assessed.", "summary": f"Sum {n}.", "id": str(n)}


def wmt19_de_en(n):
    return {"translation": {"de": f"Satz {n}", "en": f"Sentence {n}"}}


def wmt14_fr_en(n):
    return {"translation": {"fr": f"Phrase {n}", "en": f"Sentence {n}"}}


ROWS = {
    maker.__name__: maker
    for maker in (
        *(truthfulqa, sciq, mmlu, triviaqa, coqa, medquad, gsm8k),
        *(cnn_dailymail, samsum, xsum, wmt19_de_en, wmt14_fr_en),
    )
}

FEATURES = {
    "mmlu": Features(question=_TEXT, subject=_TEXT, choices=List(_TEXT), answer=ClassLabel(names=["A", "B", "C", "D"])),
    "coqa": Features(
        source=_TEXT,
        story=_TEXT,
        questions=List(_TEXT),
        answers=datasets.Sequence({"input_text": _TEXT, "answer_start": Value("int32"), "answer_end": Value("int32")}),
    ),
    "wmt19_de_en": Features(translation=Translation(languages=["de", "en"])),
    "wmt14_fr_en": Features(translation=Translation(languages=["fr", "en"])),
}


def split_of(name, count=COUNT, start=0):
    """A split of made-up rows, in the types of the real set."""
    return Dataset.from_list([ROWS[name](n) for n in range(start, start + count)], features=FEATURES.get(name))


def copy_of(paper_set, folder, count=COUNT):
    """A folder with a small copy of a set, every split that it needs with rows of its own."""
    names = dict.fromkeys(filter(None, (paper_set.split, paper_set.few_shot_split)))
    splits = {name: split_of(paper_set.id, count, 100 * place) for place, name in enumerate(names)}
    DatasetDict(splits).save_to_disk(str(folder))
    return folder
