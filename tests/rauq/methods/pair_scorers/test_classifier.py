"""Judges that are models follow their definition, batched or not, and other models are refused."""

import json
import socket

import huggingface_hub
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.special import expit, softmax

from rauq.errors import InvalidInput, ModelNotFound, NonFiniteLogits, UnsupportedModel
from rauq.methods.pair_scorers.loading import load_nli, load_similarity
from tests.architectures import save_tiny
from tests.checkpoints import LONGEST, pair_tokenizer
from tests.rauq.methods.pair_scorers.classifiers import MNLI, put_out, save_classifier, save_deberta

TEXTS = ("It is blue.", "Ein Fluß fließt langsam dahin", "no", "", "a long one " * 4)
PAIRS = [(first, second) for first in TEXTS for second in TEXTS]
BATCHES = PAIRS * 2 + [(f"{number}", "no") for number in range(20)]  # more than one


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nli")
    return folder, save_classifier(folder)


@pytest.fixture(scope="module")
def state(saved):
    return saved[1]


@pytest.fixture(scope="module")
def nli(saved):
    return load_nli(str(saved[0]))


def test_entailment_is_what_the_definition_says(nli, state):
    wanted = softmax([put_out(state, *pair) for pair in PAIRS], axis=-1)
    np.testing.assert_allclose(nli(*zip(*PAIRS, strict=True)), wanted, atol=1e-5)
    assert np.ptp(wanted, axis=0).min() > 0.01


def test_the_batch_and_the_order_do_not_matter(nli):
    together = nli(*zip(*BATCHES, strict=True))
    assert together.shape == (len(BATCHES), 3)
    alone = np.concatenate([nli([first], [second]) for first, second in PAIRS])
    np.testing.assert_allclose(together[: len(PAIRS)], alone, atol=1e-6)
    assert (together[: len(PAIRS)] == together[len(PAIRS) : 2 * len(PAIRS)]).all(), "equal pairs"
    np.testing.assert_allclose(nli(*zip(*BATCHES[::-1], strict=True)), together[::-1], atol=1e-6)
    assert nli([], []).shape == (0, 3)


def test_equal_pairs_are_read_once(nli):
    read = []
    model = nli.args[0].model
    handle = model.register_forward_hook(lambda *given: read.append(len(given[-1].logits)))
    nli(["yes", "no", "yes", "no"], ["no", "no", "no", "yes"])
    handle.remove()
    assert read == [3]


def test_texts_that_are_too_long_are_cut_at_the_end_of_the_longer_one(nli, state):
    room = LONGEST - 4 - len("no")
    np.testing.assert_allclose(
        nli(["x" + "ab" * 100], ["no"])[0], softmax(put_out(state, ("x" + "ab" * 100)[:room], "no")), atol=1e-5
    )


@pytest.mark.parametrize(
    "labels", [("entailment", "neutral", "contradiction"), ("Neutral", "Contradiction", " ENTAILMENT")]
)
def test_labels_may_stand_in_any_order_and_case(labels, tmp_path):
    state = save_classifier(tmp_path, labels)
    order = [[label.strip().upper() for label in labels].index(label) for label in MNLI]
    wanted = softmax(put_out(state, "It is.", "Is it?")[order])
    np.testing.assert_allclose(load_nli(str(tmp_path))(["It is."], ["Is it?"])[0], wanted, atol=1e-5)


@pytest.mark.parametrize(
    "labels", [("entailment", "not_entailment"), ("LABEL_0", "LABEL_1", "LABEL_2"), (*MNLI, "other"), ("NEUTRAL",) * 3]
)
def test_other_labels_are_refused_and_named(labels, tmp_path):
    save_classifier(tmp_path, labels)
    with pytest.raises(UnsupportedModel, match=rf"has the labels {', '.join(labels)}\. .* such as microsoft/deberta"):
        load_nli(str(tmp_path))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"},
    ],
)
def test_similarity_is_the_sigmoid_of_the_one_output(settings, tmp_path):
    state = save_classifier(tmp_path, ("LABEL_0",), **settings)
    similarity = load_similarity(str(tmp_path))
    wanted = expit([put_out(state, *pair)[0] for pair in PAIRS])
    np.testing.assert_allclose(similarity(*zip(*PAIRS, strict=True)), wanted, atol=1e-5)
    assert similarity([], []).shape == (0,)


def test_a_model_of_another_output_is_refused(tmp_path):
    (tmp_path / "raw").mkdir()
    save_classifier(tmp_path / "raw", ("LABEL_0",), sentence_transformers={"activation_fn": "torch.nn.Identity"})
    with pytest.raises(UnsupportedModel, match="goes through Identity, so it is not a similarity from 0 to 1"):
        load_similarity(str(tmp_path / "raw"))
    save_classifier(tmp_path)
    with pytest.raises(UnsupportedModel, match="has 3 outputs, CONTRADICTION, NEUTRAL, ENTAILMENT"):
        load_similarity(str(tmp_path))


def test_the_architecture_of_the_papers_judge_is_batched_as_it_runs_alone(tmp_path):
    model, tokenizer = save_deberta(tmp_path), pair_tokenizer()
    with torch.inference_mode():
        fed = [tokenizer([first], [second], return_tensors="pt") for first, second in PAIRS]
        alone = [model(**inputs).logits[0].softmax(dim=-1).numpy() for inputs in fed]
    np.testing.assert_allclose(load_nli(str(tmp_path))(*zip(*PAIRS, strict=True)), alone, atol=1e-5)
    assert np.ptp(alone, axis=0).min() > 0.01


def test_weights_that_lack_a_tensor_are_refused(tmp_path):
    save_classifier(tmp_path, without=("classifier.out_proj.weight",))
    with pytest.raises(UnsupportedModel, match=r"lack 1 tensors, such as classifier\.out_proj\.weight"):
        load_nli(str(tmp_path))


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    save_classifier(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["classifier.out_proj.bias"][1] = torch.nan
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(NonFiniteLogits, match="cannot be used"):
        load_nli(str(tmp_path))(["yes"], ["no"])


def test_pickled_weights_are_refused(tmp_path):
    save_classifier(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelNotFound, match="has only pickled weights, which are never read"):
        load_nli(str(tmp_path))


def test_a_generative_model_is_refused_as_a_judge(tmp_path):
    save_tiny(tmp_path)
    with pytest.raises(UnsupportedModel, match="LlamaForCausalLM: a model ending in ForSequenceClassification"):
        load_similarity(str(tmp_path))


def test_a_tokenizer_that_cannot_pad_is_refused(tmp_path):
    save_classifier(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    del settings["pad_token"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(UnsupportedModel, match="has no padding token"):
        load_nli(str(tmp_path))


def test_code_of_the_model_is_never_run(tmp_path):
    save_classifier(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "unheard", "auto_map": {"AutoConfig": "own.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text("raise SystemExit")
    with pytest.raises(UnsupportedModel, match="its own code, which is never run"):
        load_nli(str(tmp_path))


def test_no_folder_no_device_no_network(saved, monkeypatch):
    with pytest.raises(ModelNotFound, match=r"Folder .* not found"):
        load_nli("/no/such/folder")
    with pytest.raises(InvalidInput, match="Device 'abacus' is not available"):
        load_nli(str(saved[0]), device="abacus")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with pytest.raises(ModelNotFound, match=r"there is no network .*A folder that save_pretrained wrote works"):
            load_nli()
