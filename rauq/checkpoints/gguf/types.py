"""How GGUF files store values and tensors, as ggml defines it: the types that this package can turn into floats."""

from types import MappingProxyType
from typing import NamedTuple


class StorageType(NamedTuple):
    """How a tensor's elements are stored: in blocks of `elements` that take `size` bytes each."""

    name: str
    elements: int
    size: int


# ggml.h, enum ggml_type; integer types and those that only exist while computing are left out.
STORAGE_TYPES = MappingProxyType(
    {
        0: StorageType("F32", 1, 4),
        1: StorageType("F16", 1, 2),
        2: StorageType("Q4_0", 32, 18),
        3: StorageType("Q4_1", 32, 20),
        6: StorageType("Q5_0", 32, 22),
        7: StorageType("Q5_1", 32, 24),
        8: StorageType("Q8_0", 32, 34),
        10: StorageType("Q2_K", 256, 84),
        11: StorageType("Q3_K", 256, 110),
        12: StorageType("Q4_K", 256, 144),
        13: StorageType("Q5_K", 256, 176),
        14: StorageType("Q6_K", 256, 210),
        16: StorageType("IQ2_XXS", 256, 66),
        17: StorageType("IQ2_XS", 256, 74),
        18: StorageType("IQ3_XXS", 256, 98),
        19: StorageType("IQ1_S", 256, 50),
        20: StorageType("IQ4_NL", 32, 18),
        21: StorageType("IQ3_S", 256, 110),
        22: StorageType("IQ2_S", 256, 82),
        23: StorageType("IQ4_XS", 256, 136),
        29: StorageType("IQ1_M", 256, 56),
        30: StorageType("BF16", 1, 2),
        34: StorageType("TQ1_0", 256, 54),
        35: StorageType("TQ2_0", 256, 66),
        39: StorageType("MXFP4", 32, 17),
        40: StorageType("NVFP4", 64, 36),
    }
)

# llama.h, enum llama_ftype: what general.file_type says.
FILE_TYPES = MappingProxyType(
    {
        0: "F32",
        1: "F16",
        2: "Q4_0",
        3: "Q4_1",
        7: "Q8_0",
        8: "Q5_0",
        9: "Q5_1",
        10: "Q2_K",
        11: "Q3_K_S",
        12: "Q3_K_M",
        13: "Q3_K_L",
        14: "Q4_K_S",
        15: "Q4_K_M",
        16: "Q5_K_S",
        17: "Q5_K_M",
        18: "Q6_K",
        19: "IQ2_XXS",
        20: "IQ2_XS",
        21: "Q2_K_S",
        22: "IQ3_XS",
        23: "IQ3_XXS",
        24: "IQ1_S",
        25: "IQ4_NL",
        26: "IQ3_S",
        27: "IQ3_M",
        28: "IQ2_S",
        29: "IQ2_M",
        30: "IQ4_XS",
        31: "IQ1_M",
        32: "BF16",
        36: "TQ1_0",
        37: "TQ2_0",
        38: "MXFP4",
        39: "NVFP4",
    }
)
