"""TriviaQA (Joshi et al., 2017), without the documents: trivia questions, each with all names of its answer.

{"question": "Who was the man behind The Chipmunks?", "question_id": "tc_2", "question_source": "http://...",
 "entity_pages": {...}, "search_results": {...}, "answer": {"aliases": ["David Seville", ...],
 "normalized_aliases": ["david seville", ...], "matched_wiki_entity_name": "", "type": "WikipediaEntity",
 "normalized_matched_wiki_entity_name": "", "normalized_value": "david seville", "value": "David Seville"}}
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row, part_of, prompt_of, text_of, texts_of

_FORM = Form(
    base="Trivia questions with short answers.",
    instruct="Answer the last trivia question in a few words, as in the examples.",
)


def example(row: Row, asking: Asking) -> Example:
    """One question after solved ones; every alias is a reference, the usual name first."""
    question = text_of(row, "question")
    answer = part_of(row, "answer")
    names = [text_of(answer, "value"), *texts_of(answer, "aliases")]
    solved = [(text_of(shot, "question"), text_of(part_of(shot, "answer"), "value")) for shot in asking.solved]
    return Example(
        id=asking.id,
        prompt=prompt_of(_FORM, asking.kind, question, solved),
        references=tuple(dict.fromkeys(filter(None, names))),
        question=question,
    )


TRIVIAQA = PaperSet(
    id="triviaqa",
    title="TriviaQA",
    hub_id="mandarjoshi/trivia_qa",
    config="rc.nocontext",
    split="validation",
    few_shot_split="train",
    n_shot=5,
    size=2000,
    max_new_tokens=20,
    quality="alignscore",
    columns=("question", "answer"),
    example=example,
)
