"""The paper's twelve data sets, in the order of its table."""

from types import MappingProxyType

from analysis.datasets.paper.cnn_dailymail import CNN_DAILYMAIL
from analysis.datasets.paper.coqa import COQA
from analysis.datasets.paper.gsm8k import GSM8K
from analysis.datasets.paper.medquad import MEDQUAD
from analysis.datasets.paper.mmlu import MMLU
from analysis.datasets.paper.samsum import SAMSUM
from analysis.datasets.paper.sciq import SCIQ
from analysis.datasets.paper.triviaqa import TRIVIAQA
from analysis.datasets.paper.truthfulqa import TRUTHFULQA
from analysis.datasets.paper.wmt14_fr_en import WMT14_FR_EN
from analysis.datasets.paper.wmt19_de_en import WMT19_DE_EN
from analysis.datasets.paper.xsum import XSUM
from analysis.datasets.paper_set import PaperSet

_TWELVE = (
    *(TRUTHFULQA, SCIQ, MMLU, TRIVIAQA, COQA, MEDQUAD, GSM8K),
    *(CNN_DAILYMAIL, SAMSUM, XSUM),
    *(WMT19_DE_EN, WMT14_FR_EN),
)

PAPER_SETS: MappingProxyType[str, PaperSet] = MappingProxyType({paper_set.id: paper_set for paper_set in _TWELVE})
