"""The nine models of the paper, and what may be chosen for any model: its device, its precision, its kind."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import get_args

from rauq.trace import Kind

AUTO = "auto"
DEVICES = (AUTO, "cpu", "cuda", "mps")  # besides cuda:N, one GPU of several
BYTES_PER_PARAMETER = MappingProxyType({"float32": 4, "bfloat16": 2, "float16": 2})
DTYPES = (AUTO, *BYTES_PER_PARAMETER)
KINDS = (AUTO, *get_args(Kind))
BFLOAT16 = "bfloat16 (dtype='bfloat16' in Python, --dtype bfloat16 in a shell, Precision in the app)"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One model of the paper; `parameters` as its card states them."""

    name: str
    hub_id: str
    kind: Kind
    parameters: int


# The paper treats Falcon-3 and Qwen-2.5 as base models, although their base checkpoints ship a chat template.
PRESETS = (
    Preset(name="Llama-3.1 8B", hub_id="meta-llama/Llama-3.1-8B", kind="base", parameters=8_030_261_248),
    Preset(name="Llama-3.1 70B", hub_id="meta-llama/Llama-3.1-70B", kind="base", parameters=70_553_706_496),
    Preset(
        name="Llama-3.1 8B-Instruct",
        hub_id="meta-llama/Llama-3.1-8B-Instruct",
        kind="instruct",
        parameters=8_030_261_248,
    ),
    Preset(name="Llama-3.2 1B", hub_id="meta-llama/Llama-3.2-1B", kind="base", parameters=1_235_814_400),
    Preset(name="Qwen-2.5 7B", hub_id="Qwen/Qwen2.5-7B", kind="base", parameters=7_615_616_512),
    Preset(name="Gemma-2 9B", hub_id="google/gemma-2-9b", kind="base", parameters=9_241_705_984),
    Preset(name="Falcon-3 10B", hub_id="tiiuae/Falcon3-10B-Base", kind="base", parameters=10_305_653_760),
    Preset(name="SmolLM-2 360M", hub_id="HuggingFaceTB/SmolLM2-360M", kind="base", parameters=361_821_120),
    Preset(name="GPT-OSS 20B", hub_id="openai/gpt-oss-20b", kind="instruct", parameters=20_914_757_184),
)


def find_preset(name: str) -> Preset | None:
    """The preset of this hub id, in whatever case it is written."""
    return next((preset for preset in PRESETS if preset.hub_id.lower() == name.lower()), None)
