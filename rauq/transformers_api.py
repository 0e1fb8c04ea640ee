"""What the library uses of transformers, which none of its other modules imports.

Modules of transformers import each other in circles. If two threads import different parts at the same time, Python can
give either of them a half-imported module, and its import fails. Everything is imported here, so the second waits
until the first has finished.
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
