"""What rauq uses of transformers: no other module imports it.

Modules of transformers import each other. Two threads that import different parts at once would each get modules that
the other has imported by half, and fail; of this module, one thread waits until the other has imported it whole.
"""

import transformers
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MULTIMODAL_LM_MAPPING,
    AttentionInterface,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMultimodalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BitsAndBytesConfig,
    DynamicCache,
    GenerationConfig,
    LogitsProcessorList,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TorchAoConfig,
    modeling_utils,
)
from transformers.cache_utils import DummyLayer, DynamicLayer, DynamicSlidingWindowLayer
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key
from transformers.integrations.accelerate import _get_device_map
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    GGUFTensor,
    TensorProcessor,
    get_gguf_hf_weights_map,
)
from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME
from transformers.utils.hub import cached_file
from transformers.utils.import_utils import is_torch_cuda_available

TRANSFORMERS_VERSION = transformers.__version__

__all__ = [
    "AUTO_QUANTIZATION_CONFIG_MAPPING",
    "CONFIG_MAPPING",
    "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING",
    "SAFE_WEIGHTS_INDEX_NAME",
    "SAFE_WEIGHTS_NAME",
    "TENSOR_PROCESSORS",
    "TRANSFORMERS_VERSION",
    "AttentionInterface",
    "AutoConfig",
    "AutoModel",
    "AutoModelForCausalLM",
    "AutoModelForMultimodalLM",
    "AutoModelForSequenceClassification",
    "AutoTokenizer",
    "BitsAndBytesConfig",
    "DummyLayer",
    "DynamicCache",
    "DynamicLayer",
    "DynamicSlidingWindowLayer",
    "GGUFTensor",
    "GenerationConfig",
    "LogitsProcessorList",
    "PreTrainedConfig",
    "PreTrainedModel",
    "PreTrainedTokenizerBase",
    "PreTrainedTokenizerFast",
    "TemperatureLogitsWarper",
    "TensorProcessor",
    "TopKLogitsWarper",
    "TopPLogitsWarper",
    "TorchAoConfig",
    "WeightConverter",
    "WeightRenaming",
    "_get_device_map",
    "cached_file",
    "get_gguf_hf_weights_map",
    "get_model_conversion_mapping",
    "is_torch_cuda_available",
    "modeling_utils",
    "rename_source_key",
]
