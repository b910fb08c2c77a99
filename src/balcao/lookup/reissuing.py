"""Whether a federal source issues a new certificate while one is in force (contract 20.6)."""

from typing import Final

from balcao.core.documents import Cnpj, Cpf
from balcao.core.papers import BOUGHT_BY
from balcao.core.questions import Inquiry, Mode
from balcao.lookup.context import Parts

# Any documents: sources differ by whose they are.
_COMPANY: Final = Cnpj("90010001000100")
_PERSON: Final = Cpf("90010000100")


def can_reissue(parts: Parts, mode: Mode, *, is_person: bool) -> bool:
    """Return whether one of the sources does."""
    document = _PERSON if is_person else _COMPANY
    inquiry = Inquiry(BOUGHT_BY["certidao_federal"], document, reissue=True)
    return bool(parts.environments[mode].sources.source_names(inquiry))
