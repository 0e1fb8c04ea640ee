"""Known layouts of other people's tables, by name: a row of each, and what its columns are."""

import json

ASKED = ("Capital of Portugal?", "Capital of Austria?", "Who painted the Night Watch?", "Largest planet?", "Gold?")
RIGHT = ("Lisbon", "Vienna", "Rembrandt", "Jupiter", "Au")
WRONG = ("Porto", "Graz", "Vermeer", "Mars", "Ag")


def chat(*texts, role="role", content="content", names=("user", "assistant")):
    return [{role: names[place % 2], content: text} for place, text in enumerate(texts)]


def placed(right, number):
    """Three choices, of which the right one has another place in every row."""
    others = ["x", "y"]
    others.insert(number % 3, right)
    return others


def letter(number):
    return "ABC"[number % 3]


# One row of each layout, from a question, a correct and an incorrect answer and a number, and what its columns are.
KNOWN = {
    "OpenAI": (lambda q, a, w, n: {"messages": chat(q, a)}, "prompt=messages"),
    "OpenAI, parts": (
        lambda q, a, w, n: {"messages": chat([{"type": "text", "text": q}], [{"type": "text", "text": a}])},
        "prompt=messages",
    ),
    "ShareGPT": (
        lambda q, a, w, n: {
            "id": n,
            "conversations": chat(q, a, role="from", content="value", names=("human", "gpt")),
        },
        "prompt=conversations,id=id",
    ),
    "OpenAssistant": (
        lambda q, a, w, n: {"messages": chat(q, a, content="text", names=("prompter", "assistant"))},
        "prompt=messages",
    ),
    "Gemini": (
        lambda q, a, w, n: {"contents": chat([{"text": q}], [{"text": a}], content="parts", names=("user", "model"))},
        "prompt=contents",
    ),
    "messages as text": (lambda q, a, w, n: {"messages": repr(chat(q, f"it's {a}"))}, "prompt=messages"),
    "messages, reference": (
        lambda q, a, w, n: {"messages": chat(q), "answer": a},
        "prompt=messages,references=answer",
    ),
    "SQuAD": (
        lambda q, a, w, n: {
            "id": f"5{n}",
            "title": "T",
            "context": f"It is {a}.",
            "question": q,
            "answers": {"text": [a, a.upper()], "answer_start": [6, 6]},
        },
        "prompt=context,prompt=question,references=answers,source=context,question=question,id=id",
    ),
    "TriviaQA": (
        lambda q, a, w, n: {
            "question": q,
            "question_id": f"t{n}",
            "entity_pages": {"title": []},
            "answer": {"aliases": [a, a.lower()], "type": "W", "normalized_value": a.lower(), "value": a},
        },
        "prompt=question,references=answer,id=question_id",
    ),
    "MMLU": (
        lambda q, a, w, n: {"question": q, "subject": "geography", "choices": placed(a, n), "answer": n % 3},
        "prompt=question,references=answer,choices=choices,group=subject",
    ),
    "MMLU as CSV": (
        lambda q, a, w, n: {"question": q, **dict(zip("ABC", placed(a, n), strict=True)), "answer": letter(n)},
        "prompt=question,references=answer,choices=A,choices=B,choices=C",
    ),
    "MMLU-Pro": (
        lambda q, a, w, n: {
            "question_id": n,
            "question": q,
            "options": placed(a, n),
            "answer": letter(n),
            "answer_index": n % 3,
        },
        "prompt=question,references=answer,choices=options,id=question_id",
    ),
    "ARC": (
        lambda q, a, w, n: {
            "id": f"M{n}",
            "question": q,
            "choices": {"text": placed(a, n), "label": ["1", "2", "3"]},
            "answerKey": str(n % 3 + 1),
        },
        "prompt=question,references=answerKey,choices=choices,id=id",
    ),
    "CommonsenseQA": (
        lambda q, a, w, n: {
            "id": n,
            "question": q,
            "choices": {"text": placed(a, n), "label": ["A", "B", "C"]},
            "answerKey": letter(n),
        },
        "prompt=question,references=answerKey,choices=choices,id=id",
    ),
    "MedMCQA": (
        lambda q, a, w, n: {
            "id": n,
            "question": q,
            **dict(zip(("opa", "opb", "opc"), placed(a, n), strict=True)),
            "cop": n % 3,
        },
        "prompt=question,references=cop,choices=opa,choices=opb,choices=opc,id=id",
    ),
    "MedMCQA, from 1": (
        lambda q, a, w, n: {
            "id": n,
            "question": q,
            **dict(zip(("opa", "opb", "opc"), placed(a, n), strict=True)),
            "cop": n % 3 + 1,
        },
        "prompt=question,references=cop,choices=opa,choices=opb,choices=opc,id=id",
    ),
    "SocialIQA": (
        lambda q, a, w, n: {
            "context": "C.",
            "question": q,
            **dict(zip(("answerA", "answerB", "answerC"), placed(a, n), strict=True)),
            "label": str(n % 3 + 1),
        },
        (
            "prompt=context,prompt=question,references=label,choices=answerA,choices=answerB,choices=answerC,"
            "source=context,question=question"
        ),
    ),
    "CosmosQA": (
        lambda q, a, w, n: {
            "id": f"c{n}",
            "context": "C.",
            "question": q,
            **dict(zip(("answer0", "answer1", "answer2"), placed(a, n), strict=True)),
            "label": n % 3,
        },
        (
            "prompt=context,prompt=question,references=label,choices=answer0,choices=answer1,choices=answer2,"
            "source=context,question=question,id=id"
        ),
    ),
    "MedQA": (
        lambda q, a, w, n: {
            "question": q,
            "answer": a,
            "options": dict(zip("ABC", placed(a, n), strict=True)),
            "meta_info": "step1",
            "answer_idx": letter(n),
        },
        "prompt=question,references=answer,choices=options",
    ),
    "the text of the right choice": (
        lambda q, a, w, n: {"question": q, "options": placed(a, n), "answer": a},
        "prompt=question,references=answer,choices=options",
    ),
    "RACE": (
        lambda q, a, w, n: {"article": "T.", "answer": letter(n), "question": q, "options": placed(a, n)},
        "prompt=article,prompt=question,references=answer,choices=options,source=article,question=question",
    ),
    "GSM8K": (
        lambda q, a, w, n: {"question": q, "answer": f"{n} + 1 = <<{n}+1={n + 1}>>{n + 1}.\n#### {n + 1}"},
        "prompt=question,references=answer",
    ),
    "MATH": (
        lambda q, a, w, n: {
            "problem": q,
            "level": f"Level {n}",
            "solution": rf"So it is $\boxed{{\frac{{{n}}}{{7}}}}$.",
        },
        "prompt=problem,references=solution,stratum=level",
    ),
    "HaluEval": (
        lambda q, a, w, n: {
            "ID": n,
            "knowledge": "K",
            "question": q,
            "answer": w,
            "hallucination": "yes" if n else "no",
        },
        "prompt=question,answer=answer,incorrect=hallucination,source=knowledge,id=ID",
    ),
    "HaluEval, pairs": (
        lambda q, a, w, n: {"knowledge": "K", "question": q, "right_answer": a, "hallucinated_answer": w},
        "prompt=knowledge,prompt=question,references=right_answer,source=knowledge,question=question",
    ),
    "Alpaca": (
        lambda q, a, w, n: {"instruction": "Name the capital.", "input": q, "output": a},
        "prompt=instruction,prompt=input,references=output",
    ),
    "Dolly": (
        lambda q, a, w, n: {"instruction": q, "context": "" if n else "C", "response": a, "category": "open_qa"},
        "prompt=instruction,prompt=context,references=response,group=category",
    ),
    "TruthfulQA": (
        lambda q, a, w, n: {
            "Type": "Adversarial",
            "Category": "Myths",
            "Question": q,
            "Best Answer": a,
            "Correct Answers": f"{a}; It is {a}",
            "Incorrect Answers": w,
        },
        "prompt=Question,references=Correct Answers,references=Best Answer,group=Category,separator=semicolon",
    ),
    "RAGTruth": (
        lambda q, a, w, n: {
            "id": n,
            "source_id": "1",
            "prompt": q,
            "labels": [{"start": 0, "end": 2, "text": w[:2], "label_type": "Conflict"}] if n % 2 else [],
            "quality": "good",
            "response": w,
        },
        "prompt=prompt,answer=response,incorrect=labels,wrong=labels,id=id",
    ),
    "LettuceDetect": (
        lambda q, a, w, n: {
            "prompt": q,
            "answer": w,
            "labels": [{"start": 0, "end": 2}] if n % 2 else [],
            "split": "x",
        },
        "prompt=prompt,answer=answer,incorrect=labels,wrong=labels",
    ),
    "ragas": (
        lambda q, a, w, n: {"question": q, "answer": w, "contexts": ["c", "d"], "ground_truth": a},
        "prompt=question,references=ground_truth,answer=answer,source=contexts",
    ),
    "ragas 0.2": (
        lambda q, a, w, n: {"user_input": q, "retrieved_contexts": ["c"], "response": w, "reference": a},
        "prompt=user_input,references=reference,answer=response,source=retrieved_contexts",
    ),
    "deepeval": (
        lambda q, a, w, n: {"input": q, "actual_output": w, "expected_output": a, "context": ["c"]},
        "prompt=input,references=expected_output,answer=actual_output,source=context",
    ),
    "PopQA": (
        lambda q, a, w, n: {"id": n, "subj": "s", "obj": a, "question": q, "possible_answers": json.dumps([a, "x"])},
        "prompt=question,references=possible_answers,id=id",
    ),
    "predictions": (
        lambda q, a, w, n: {"question": q, "answer": a, "prediction": w},
        "prompt=question,references=answer,answer=prediction",
    ),
    "camel case": (
        lambda q, a, w, n: {"userQuery": q, "groundTruth": a, "modelResponse": w},
        "prompt=userQuery,references=groundTruth,answer=modelResponse",
    ),
    "Chinese": (
        lambda q, a, w, n: {"问题": q, "标准答案": a, "模型回答": w},
        "prompt=问题,references=标准答案,answer=模型回答",
    ),
    "German verdict": (
        lambda q, a, w, n: {"Frage": q, "Antwort": w, "richtig": "nein" if n else "ja"},
        "prompt=Frage,answer=Antwort,correct=richtig",
    ),
    "words of a verdict": (
        lambda q, a, w, n: {"question": q, "model_answer": w, "label": "hallucinated" if n else "supported"},
        "prompt=question,answer=model_answer,correct=label",
    ),
    "pass and fail": (
        lambda q, a, w, n: {"query": q, "output": w, "verdict": "FAIL" if n else "PASS"},
        "prompt=query,answer=output,correct=verdict",
    ),
    "a verdict as bool": (
        lambda q, a, w, n: {"prompt": q, "completion": w, "is_hallucinated": bool(n)},
        "prompt=prompt,answer=completion,incorrect=is_hallucinated",
    ),
    "ratings": (
        lambda q, a, w, n: {"prompt": q, "response": w, "rating": n},
        "prompt=prompt,answer=response,quality=rating",
    ),
    "index of pandas": (lambda q, a, w, n: {"": n, "question": q, "answer": a}, "prompt=question,references=answer"),
    "TruthfulQA, with the address of its source": (
        lambda q, a, w, n: {
            "Question": q,
            "Best Answer": a,
            "Correct Answers": f"{a}; It is {a}",
            "Source": f"https://en.wikipedia.org/wiki/{n}",
        },
        "prompt=Question,references=Correct Answers,references=Best Answer,separator=semicolon",
    ),
    "WinoGrande": (
        lambda q, a, w, n: {
            "sentence": f"{q} Since _ is.",
            "option1": w if n % 2 else a,
            "option2": a if n % 2 else w,
            "answer": str(n % 2 + 1),
        },
        "prompt=sentence,references=answer,choices=option1,choices=option2",
    ),
    "OpenAI evals": (
        lambda q, a, w, n: {"input": [{"role": "system", "content": "Be brief."}, *chat(q)], "ideal": a},
        "prompt=input,references=ideal",
    ),
    "a conversation and an answer beside it": (
        lambda q, a, w, n: {"messages": chat(q), "response": w, "correct": n % 2 == 0},
        "prompt=messages,answer=response,correct=correct",
    ),
    "SimpleQA, graded": (
        lambda q, a, w, n: {"problem": q, "answer": a, "response": w, "grade": "INCORRECT" if n % 2 else "CORRECT"},
        "prompt=problem,references=answer,answer=response,correct=grade",
    ),
    "ratings, most of them 1": (
        lambda q, a, w, n: {"prompt": q, "response": w, "rating": [1, 1, 2, 1, 5][n]},
        "prompt=prompt,answer=response,quality=rating",
    ),
    "half a point": (
        lambda q, a, w, n: {"question": q, "model_answer": w, "score": n % 3 / 2},
        "prompt=question,answer=model_answer,quality=score",
    ),
    "from -1 to 1": (
        lambda q, a, w, n: {"query": q, "response": w, "score": [-1, -1, 0, 1, 2][n]},
        "prompt=query,answer=response,quality=score",
    ),
    "MTurk": (
        lambda q, a, w, n: {
            "HITId": f"H{n}",
            "Input.question": q,
            "Input.response": w,
            "Answer.label": "Incorrect" if n % 2 else "Correct",
        },
        "prompt=Input.question,answer=Input.response,correct=Answer.label",
    ),
    "ids that repeat": (
        lambda q, a, w, n: {"question_id": n // 2, "question": q, "response": w, "reference": a},
        "prompt=question,references=reference,answer=response",
    ),
}
# The same where something has two likely readings: the columns of each, in order.
ASKED_ABOUT = {
    "a label": (
        lambda q, a, w, n: {"prompt": q, "response": w, "label": n % 2},
        ["prompt=prompt,answer=response,correct=label", "prompt=prompt,answer=response,incorrect=label"],
    ),
    "a conversation with a label": (
        lambda q, a, w, n: {"messages": chat(q, w), "label": "yes" if n % 2 else "no"},
        ["prompt=messages,correct=label", "prompt=messages,incorrect=label"],
    ),
    "an answer beside an unread column": (
        lambda q, a, w, n: {"question": q, "answer": a, "remark": f"R{n}"},
        ["prompt=question,references=answer", "prompt=question,answer=answer"],
    ),
    "a response alone": (
        lambda q, a, w, n: {"prompt": q, "response": w},
        ["prompt=prompt,answer=response", "prompt=prompt,references=response"],
    ),
    "a hallucination score": (
        lambda q, a, w, n: {"prompt": q, "response": w, "hallucination_score": n / 7},
        ["prompt=prompt,answer=response", "prompt=prompt,references=response"],
    ),
    "yes and no": (
        lambda q, a, w, n: {"qid": f"a{n}", "question": q, "answer": "yes" if n % 2 else "no"},
        ["prompt=question,references=answer,id=qid", "prompt=question,id=qid"],
    ),
    "BoolQ": (
        lambda q, a, w, n: {"question": q, "passage": "P.", "answer": bool(n % 2)},
        [
            "prompt=passage,prompt=question,references=answer,source=passage,question=question",
            "prompt=passage,prompt=question,source=passage,question=question",
        ],
    ),
    "FELM": (
        lambda q, a, w, n: {
            "prompt": q,
            "response": f"{w}. Yes.",
            "segmented_response": [f"{w}.", "Yes."],
            "labels": [True, n % 2 == 0],
        },
        ["prompt=prompt,answer=response", "prompt=prompt,references=response"],
    ),
    "MT-Bench": (
        lambda q, a, w, n: {"question_id": n, "category": f"C{n}", "turns": [q, "Why?"], "reference": [a, a]},
        [
            "prompt=category,references=reference,id=question_id",
            "prompt=turns,references=reference,id=question_id",
        ],
    ),
    "two verdicts": (
        lambda q, a, w, n: {
            "question": q,
            "answer": w,
            "label": "FAIL" if n % 2 else "PASS",
            "score": n % 2,
        },
        ["prompt=question,answer=answer,correct=label", "prompt=question,answer=answer,correct=score"],
    ),
    "two conversations": (
        lambda q, a, w, n: {"prompt": q, "chosen": chat(q, a), "rejected": chat(q, w)},
        ["prompt=chosen", "prompt=rejected"],
    ),
    "AlpacaEval": (
        lambda q, a, w, n: {"instruction": q, "output": w, "generator": "gpt4"},
        ["prompt=instruction,answer=output", "prompt=instruction,references=output"],
    ),
    "PubMedQA": (
        lambda q, a, w, n: {
            "question": q,
            "long_answer": f"It is {a}.",
            "final_decision": ["yes", "no", "maybe"][n % 3],
        },
        ["prompt=question", "prompt=question,references=long_answer", "prompt=question,references=final_decision"],
    ),
    "nothing but choices": (
        lambda q, a, w, n: {"options": [a, w], "answer": n % 2},
        ["prompt=options", "prompt=answer"],
    ),
    "no known name": (lambda q, a, w, n: {"left": q, "right": a}, ["prompt=left", "prompt=right"]),
    "a label, no known prompt": (
        lambda q, a, w, n: {"left": q, "remark": f"R{n}", "response": w, "label": n % 2},
        [
            "prompt=left,answer=response,correct=label",
            "prompt=remark,answer=response,correct=label",
            "prompt=left,answer=response,incorrect=label",
            "prompt=remark,answer=response,incorrect=label",
        ],
    ),
}


def rows_of(layout):
    return [layout(*texts, number) for number, texts in enumerate(zip(ASKED, RIGHT, WRONG, strict=True))]
