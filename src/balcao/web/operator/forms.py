"""What the operator's forms share: whose account it is, that a form counts once, how numbers and
terms are typed.
"""

import re
from collections.abc import Mapping, Sequence

from starlette.responses import Response

from balcao.core.access import Account, Plan
from balcao.core.people import Signature
from balcao.core.questions import Mode
from balcao.core.terms import ceiling_problem, certificates_problem, includes_certificates
from balcao.errors import InvalidParameter
from balcao.storage.people import Terms
from balcao.web.visit import Visit
from balcao.web.vocabulary import PLANS

PLAN_NOTES: Mapping[Plan, str] = {
    "gratuito": "créditos de cortesia, nunca inclui certidões",
    "pre_pago": "só gasta o que tem, sempre inclui certidões",
    "pos_pago": "o saldo é o que deve; certidões só por contrato",
}
MODES: Mapping[Mode, str] = {"live": "produção", "test": "teste"}

_FORM_ID_CHARACTERS = range(16, 65)
_WHOLE = re.compile(r"[-−+]?(?:[0-9]{1,15}|[0-9]{1,3}(?:\.[0-9]{3}){1,4})", re.ASCII)


def account_in(visit: Visit) -> Account | None:
    """The account that the address names."""
    number = int(visit.request.path_params["account_id"])
    try:
        return visit.tools.desk.account(number)
    except (LookupError, OverflowError):
        return None


def no_account(visit: Visit) -> Response:
    """What is said where there is none."""
    text = "Não há conta com esse número. Procure-a na lista de contas."
    return visit.page("problema.html", 404, title="Conta não encontrada", text=text)


def once(visit: Visit) -> Signature:
    """This operator's signature, good once. Raises `InvalidParameter` for a form without number."""
    form_id = visit.typed("form_id")
    if len(form_id) not in _FORM_ID_CHARACTERS:
        raise InvalidParameter(
            "O formulário chegou incompleto, e nada foi feito. Volte, recarregue a página e envie"
            " de novo."
        )
    return visit.signed(form_id)


def whole_number(text: str) -> int | None:
    """`1000`, `1.000` and `-5`; None for anything else."""
    if not _WHOLE.fullmatch(text):
        return None
    return int(text.replace(".", "").replace("−", "-"))


def typed_terms(visit: Visit) -> tuple[Terms | None, Mapping[str, str]]:
    """The terms that the form names, or what is wrong with each field."""
    plan = _plan(visit.typed("plano"))
    if plan is None:
        return None, {"plano": "Escolha um plano."}
    errors: dict[str, str] = {}
    ceiling = None
    if visit.typed("teto"):
        ceiling = whole_number(visit.typed("teto"))
        if ceiling is None:
            errors["teto"] = "Escreva um número inteiro, ou deixe em branco."
        elif problem := ceiling_problem(plan, ceiling):
            errors["teto"] = sentence(problem)
    by_contract = visit.typed("certidoes") == "1"
    if problem := certificates_problem(plan, by_contract=by_contract):
        errors["certidoes"] = sentence(problem)
    if errors:
        return None, errors
    included = includes_certificates(plan, by_contract=by_contract)
    return Terms(plan, included, visit.typed("optin") == "1", ceiling), {}


def sentence(problem: str) -> str:
    """What the command line says after the name of an argument, on its own, with the plans as
    people write them.
    """
    for plan, name in PLANS.items():
        problem = problem.replace(plan, name)
    return problem[:1].upper() + problem[1:]


def typed_again(visit: Visit, names: Sequence[str]) -> Mapping[str, str]:
    """What was typed, to be shown again beside what is wrong with it."""
    return {name: visit.typed(name) for name in names}


def _plan(text: str) -> Plan | None:
    return next((plan for plan in PLANS if plan == text), None)
