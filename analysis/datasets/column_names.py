"""What columns are called in other people's files: in lower case with underscores, the likeliest names first."""

CONVERSATIONS = tuple(
    "messages conversations conversation chat dialog dialogue turns items history prompt input".split()
)
PROMPTS = tuple(
    "prompt question instruction query user_input user_query user_prompt user_message problem input inputs text "
    "question_text q 问题 提问 题目 質問 問題 질문 pregunta frage вопрос domanda pergunta سؤال السؤال שאלה".split()
)
REFERENCES = tuple(
    "references reference reference_answers reference_answer correct_answers correct_answer ground_truths ground_truth "
    "ground_truth_answer golden_answers golden_answer gold_answers gold_answer gold expected_output expected_answer "
    "expected expected_response ideal_answer ideal possible_answers acceptable_answers accepted_answers right_answer "
    "right_response target_answer targets target reference_output final_answer standard_answer best_answer gt truth "
    "solution label 参考答案 标准答案 正确答案".split()
)
ALSO_REFERENCES = tuple("best_answer aliases answer_aliases".split())
"""Columns with further references beside those above."""

ANSWERS = tuple(
    "answer answers a 答案 回答 答え 답변 답 respuesta antwort réponse ответ risposta resposta جواب الجواب "
    "תשובה".split()
)
"""Names of answers, which may be correct ones or those of a model."""

OUTPUTS = tuple(
    "response output generation completion prediction model_answer model_output model_response generated "
    "generated_answer generated_text generated_response actual_output llm_answer llm_output llm_response "
    "chatgpt_response predicted_answer predicted candidate hypothesis reply student_answer 模型回答 模型答案".split()
)
"""Names of what a model answered."""

CORRECT = tuple(
    "correct is_correct right is_right supported is_supported faithful is_faithful factual is_factual truthful "
    "accurate accuracy acc exact_match em passed pass grounded correctness richtig korrekt correcto vrai верно 正确 "
    "是否正确".split()
)
INCORRECT = tuple(
    "hallucination hallucinations hallucinated is_hallucination is_hallucinated has_hallucination "
    "contains_hallucination hallucination_label incorrect is_incorrect is_wrong unsupported unfaithful".split()
)
RATED = tuple("verdict judgement judgment score grade rating quality evaluation result".split())
LABELS = tuple("label labels annotation annotations class gold_label human_label".split())
"""Names of verdicts that do not say which side yes and 1 are."""

QUALITY = tuple("quality score rating grade".split())
WRONG = tuple(
    "wrong wrong_texts wrong_text hallucination_spans hallucinations hallucination hallucination_labels labels".split()
)
CHOICES = tuple("choices options mc_choices answer_choices candidates endings 选项".split())
_STEMS = ("option", "option_", "choice", "choice_", "answer", "answer_", "ending", "ending_")
LETTERED = (
    *(tuple(f"{stem}{letter}" for letter in "abcdefghij") for stem in ("", "op", *_STEMS)),
    *(tuple(f"{stem}{number}" for number in range(first, first + 10)) for stem in _STEMS for first in (0, 1)),
)
"""Names of choices that have a column each."""

RIGHT_CHOICE = tuple(
    "answer_key answerkey correct_answer correct_option gold target answer answer_index answer_idx label cop correct "
    "ans 答案".split()
)
PASSAGES = tuple(
    "context contexts passage article story paragraph document knowledge retrieved_contexts retrieval_context".split()
)
QUESTIONS = tuple("question query user_input user_query q".split())
"""Names of a prompt that is asked about a passage; one called prompt has it already."""

INSTRUCTIONS, THEIR_INPUTS = ("instruction",), ("input", "inputs", "context")
IDS = tuple(
    "id key idx index uuid guid qid question_id example_id sample_id row_id unnamed_0 column_1 编号 序号".split()
)
UNNAMED = frozenset({"column_1", "unnamed_0", "index"})
"""The row numbers that tables written with their index have."""

SOURCES = ("source", "evidence", "background", "source_info")
NO_PROMPTS = tuple("group task language category subject topic domain title name type model url link split".split())
"""Names of columns that hold no prompts, although they may hold texts."""

OTHERS = {
    "facts": ("facts", "fact"),
    "group": tuple("group task language category subject topic domain task_type".split()),
    "stratum": ("stratum", "difficulty", "level"),
    "error_label": ("error_label", "error", "error_type"),
    "source": (*PASSAGES, *SOURCES),
    "question": ("question", "query"),
}
