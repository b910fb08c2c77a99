"""The state treasuries' web service CadConsultaCadastro4 (`sefaz-consulta-cadastro.md`).

`treasuries.py` says who answers where and with which manners, `reading.py` what was asked,
`requester.py` by whom, `writing.py` how answers look, `forms.py` which of them look odd;
`service.py` puts them together.
"""

from balcao.providers.sefaz.simulator.service import SimulatedSefaz

__all__ = ["SimulatedSefaz"]
