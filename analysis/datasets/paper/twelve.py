"""The paper's twelve data sets, in the order of its table."""

from types import MappingProxyType

from analysis.datasets.paper.paper_set import PaperSet
from analysis.datasets.paper.questions import COQA, MEDQUAD, SCIQ, TRIVIAQA, TRUTHFULQA
from analysis.datasets.paper.reasoning import GSM8K, MMLU
from analysis.datasets.paper.summaries import CNN_DAILYMAIL, SAMSUM, XSUM
from analysis.datasets.paper.translations import WMT14_FR_EN, WMT19_DE_EN

_TWELVE = (
    *(TRUTHFULQA, SCIQ, MMLU, TRIVIAQA, COQA, MEDQUAD, GSM8K),
    *(CNN_DAILYMAIL, SAMSUM, XSUM),
    *(WMT19_DE_EN, WMT14_FR_EN),
)

PAPER_SETS: MappingProxyType[str, PaperSet] = MappingProxyType({paper_set.id: paper_set for paper_set in _TWELVE})
