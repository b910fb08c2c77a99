"""What happened, what it cost and what to do, in plain words: of refusals, failures and prices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from balcao.core.calendar import civil_day
from balcao.core.errors import (
    CeilingOfRequest,
    NothingInCache,
    NotServed,
    Overloaded,
    SourceUnavailable,
    StorageFailed,
)
from balcao.core.federation import ALL
from balcao.core.outcomes import Quote
from balcao.core.problems import UNCERTAIN, Problem
from balcao.core.problems import table as problems
from balcao.core.questions import Question
from balcao.core.writing import counted, credits, day, instant, whole
from balcao.operations.views import Notice
from balcao.web.kit.lookups.advice import advice
from balcao.web.kit.lookups.forms import DOCUMENTS, LookupForm
from balcao.web.kit.words.vocabulary import CODES


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong with one field."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Price:
    """What a consultation would cost, and whether that can be paid."""

    text: str
    tone: str = "info"
    in_button: str = ""  # beside "Consultar"; empty: nobody knows, or it cannot be paid
    promise: str = ""  # what the form sends back of it; see `consult`


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result that this person has already paid for."""

    request_id: str
    ago: str


_CNPJ = (
    "Informe os 14 caracteres do CNPJ, com ou sem pontuação. Os dois últimos são dígitos"
    " verificadores e devem conferir."
)
_CPF = (
    "Informe os 11 dígitos do CPF, com ou sem pontuação. Os dois últimos são verificadores e"
    " devem conferir."
)
_COMPLAINTS: Mapping[str, Complaint] = {
    "CNPJ_INVALIDO": Complaint("cnpj", _CNPJ),
    "CPF_INVALIDO": Complaint("cpf", _CPF),
    "DOCUMENTO_OBRIGATORIO": Complaint("cnpj", _CNPJ),
    "DATA_NASCIMENTO_OBRIGATORIA": Complaint(
        "nascimento", "Informe a data de nascimento de quem tem este CPF."
    ),
    "DATA_NASCIMENTO_INVALIDA": Complaint(
        "nascimento", "Informe uma data que existe, na forma dia/mês/ano: 25/03/1980."
    ),
    "DATA_NASCIMENTO_FUTURA": Complaint("nascimento", "Esta data ainda não chegou."),
    "UF_INVALIDA": Complaint("uf", "Escolha uma das UFs da lista."),
    "UF_OBRIGATORIA": Complaint("uf", "Escolha a UF."),
    "OPTIN_NAO_HABILITADO": Complaint(
        "optin", "O CPF dos sócios não está habilitado para esta conta."
    ),
}
_HOME_UNKNOWN = "Não se descobriu em que UF está a empresa. Escolha a UF."


def complaint(problem: Problem, form: LookupForm, typed: Mapping[str, str]) -> Complaint | None:
    """At which field to say what is wrong; None: it is not about a field."""
    if problem.code == "DOCUMENTO_OBRIGATORIO" and typed["quem"] == "cpf":
        return _COMPLAINTS["CPF_INVALIDO"]
    if problem.code == "UF_OBRIGATORIA" and form.uf_may_be_left_out:
        return Complaint("uf", _HOME_UNKNOWN)
    if problem.code == "PARAMETRO_INVALIDO":
        return Complaint("dias", f"Informe um número inteiro de dias, de 0 a {form.days_max}.")
    known = _COMPLAINTS.get(problem.code)
    for field in DOCUMENTS:
        if known is not None and known.field == field:
            told = advice(form, field, typed[field])
            return known if told is None else Complaint(field, told)
    return known


NO_COST = "Nada foi cobrado."
_DEARER = problems()[CeilingOfRequest][1]

_BY_CODE: Mapping[str, Notice] = {
    "CNPJ_NAO_ENCONTRADO": Notice(
        "warn",
        "Este CNPJ não existe",
        "A fonte diz que o CNPJ não existe ou foi removido da base da Receita Federal.",
        "Confira o número. Uma empresa aberta nos últimos dias pode ainda não constar.",
    ),
    "INSCRICAO_NAO_ENCONTRADA": Notice(
        "info",
        "Sem inscrição na Suframa",
        "A Suframa respondeu que esta empresa não tem inscrição.",
        "Confira o número, se esperava uma: cada filial tem a sua inscrição.",
    ),
    "DADOS_RECUSADOS_PELA_FONTE": Notice(
        "warn",
        "A fonte recusou os dados",
        "A data de nascimento não é a que a Receita Federal tem deste CPF.",
        "Confira o CPF e a data, e consulte de novo.",
    ),
    "NOVA_EMISSAO_RECUSADA": Notice(
        "warn",
        "A fonte recusou uma emissão nova",
        "Ela não emite outra certidão enquanto uma com efeitos de negativa está em vigor.",
        "Consulte de novo e escolha a 2ª via.",
    ),
    "FALHA_TECNICA": Notice(
        "bad",
        "A fonte falhou",
        "A fonte foi consultada e não deu uma resposta que se possa usar.",
        "Espere alguns minutos antes de repetir: a Receita Federal pode ter começado a emitir a"
        " certidão, e então a consulta seguinte a encontra.",
    ),
    "ERRO_INTERNO": Notice(
        "bad",
        "A fonte falhou",
        "A fonte foi consultada e não deu uma resposta que se possa usar.",
        "Tente de novo em instantes, ou aceite um resultado guardado.",
    ),
    "SERVICO_INDISPONIVEL": Notice(
        "bad",
        "Fonte indisponível",
        "Quem responde esta consulta está fora do ar ou em manutenção.",
        "Tente mais tarde. A página da situação das fontes mostra quando elas voltam.",
    ),
    "COBRANCA_INCERTA": Notice(
        "bad",
        "Não se sabe se a consulta foi feita",
        "O serviço perdeu a ligação com o banco de dados enquanto gravava a consulta. Ela pode ter"
        " sido feita e cobrada.",
        "Espere alguns segundos e envie este mesmo formulário de novo: ele nunca é cobrado duas"
        " vezes. Se a consulta foi feita, o resultado aparece.",
    ),
    "SEM_RESULTADO_EM_CACHE": Notice(
        "info",
        "Não há nada guardado",
        "Não há certidão guardada que ainda valha, e a fonte não foi consultada.",
        "Para consultar a fonte, escolha “A guardada, se ainda valer; senão, a fonte”.",
    ),
    "SALDO_INSUFICIENTE": Notice(
        "warn",
        "Créditos insuficientes",
        "A consulta precisava de mais créditos do que havia disponíveis.",
        "Peça créditos a quem administra a conta, e consulte de novo.",
    ),
    "TETO_DA_REQUISICAO": Notice(
        "warn",
        "Acima do máximo permitido",
        "A consulta podia custar mais créditos do que o máximo enviado com ela.",
        "Envie um máximo maior em X-Creditos-Maximos, ou aceite um resultado guardado.",
    ),
    "TETO_DA_CHAVE": Notice(
        "warn",
        "Teto da chave atingido",
        "O teto desta chave não comportava a consulta.",
        "Espere o período recomeçar, ou peça um teto maior a quem administra a conta.",
    ),
    "TETO_DO_LOTE": Notice(
        "warn",
        "Teto do lote atingido",
        "O teto deste lote não comportava a consulta.",
        "Aumente o teto do lote e retome-o.",
    ),
    "TETO_DA_CARTEIRA": Notice(
        "warn",
        "Teto da carteira atingido",
        "O teto da carteira não comportava a consulta.",
        "Espere o período recomeçar, ou aumente o teto da carteira.",
    ),
    "TETO_DO_CLIENTE": Notice(
        "warn",
        "Teto do cliente atingido",
        "O teto deste cliente não comportava a consulta.",
        "Espere o período recomeçar, ou peça um teto maior a quem administra a conta.",
    ),
    "OPERACAO_EM_ANDAMENTO": Notice(
        "info",
        "Já estava em andamento",
        "O mesmo formulário já tinha sido enviado, e a primeira consulta ainda corria.",
        "O resultado está no histórico, na linha da primeira consulta.",
    ),
    "RESULTADO_INDISPONIVEL": Notice(
        "warn",
        "Consulta interrompida",
        "O serviço parou no meio desta consulta, e o resultado se perdeu.",
        "Consulte de novo.",
    ),
    "IDEMPOTENCY_KEY_REUTILIZADA": Notice(
        "info",
        "Este formulário já tinha sido usado",
        "Com ele já foi feita outra consulta, que está no histórico.",
        "Confira os dados abaixo e consulte de novo.",
    ),
    "IDEMPOTENCY_KEY_INVALIDA": Notice(
        "info",
        "O formulário chegou incompleto",
        "Faltou o número que impede uma cobrança em dobro.",
        "Confira os dados abaixo e consulte de novo.",
    ),
    "UF_OBRIGATORIA": Notice("warn", "Faltou a UF", _HOME_UNKNOWN, "Consulte de novo, com a UF."),
}

# Several things come under one code: what callers of the API read tells which.
_BY_MESSAGE: Mapping[str, Notice] = {
    problems()[SourceUnavailable][2]: _BY_CODE["SERVICO_INDISPONIVEL"],
    problems()[NotServed][2]: Notice(
        "bad",
        "Consulta não atendida",
        "Nenhuma fonte deste serviço responde esta consulta: a operação, a UF ou o documento.",
        "Fale com quem opera o serviço.",
    ),
    problems()[StorageFailed][2]: Notice(
        "bad",
        "Serviço indisponível",
        "O serviço não consegue gravar no momento, e por isso não consulta.",
        "Tente mais tarde.",
    ),
    problems()[Overloaded][2]: Notice(
        "warn",
        "Serviço sobrecarregado",
        "Há consultas demais em andamento, e esta não foi feita.",
        "Tente de novo em instantes.",
    ),
}


def of_code(code: str | None, message: str | None = None, form: LookupForm | None = None) -> Notice:
    """Why there is no result, by the internal code; `message` is what callers of the API read."""
    return replace(_of_code(code, message, form), code=code if code in CODES else None)


def _of_code(code: str | None, message: str | None, form: LookupForm | None) -> Notice:
    if message is not None and message in _BY_MESSAGE:
        return _BY_MESSAGE[message]
    own = {} if form is None else form.failures
    known = own.get(code or "") or _BY_CODE.get(code or "")
    if known is None:
        text = message or "A consulta não pôde ser respondida."
        return Notice("bad", "Sem resultado", text, "Confira os dados e consulte de novo.")
    if code == "SERVICO_INDISPONIVEL" and message:
        return Notice(known.tone, known.title, message, known.advice)
    return known


def cost(charged: int) -> str:
    """What it cost, as a sentence."""
    return f"Cobrado: {credits(charged)}." if charged else NO_COST


def dearer(needed: int, charged: str = NO_COST) -> Notice:
    """What was kept when the button was shown is not any more."""
    return Notice(
        "warn",
        "O preço mudou",
        f"Desde que a página foi aberta o preço subiu: até {credits(needed)}. {charged}",
        "Confira o preço no botão, e aperte de novo se ainda quiser.",
    )


def of_refusal(
    problem: Problem,
    form: LookupForm | None,
    available: int | None,
    *,
    is_manager: bool,
    charged: str = NO_COST,
) -> Notice:
    """Why a form was not carried out, where that is not about one of its fields.

    `form`: of a lookup; `charged`: what is said of the cost.
    """
    match problem.status:
        case 402:
            needed = problem.fields["creditos_necessarios"]
            assert isinstance(needed, int), "a count of credits"
            if problem.code == _DEARER:  # the ceiling is what the button said
                return dearer(needed, charged)
            left = problem.fields["creditos_disponiveis"]
            assert isinstance(left, int), "a form has neither key nor mark: no budget covers it"
            who = (
                "Peça créditos a quem opera o serviço" if is_manager else "Avise o gestor da conta"
            )
            return Notice(
                "warn",
                "Créditos insuficientes",
                f"Esta consulta precisa de {_at_disposal(needed)}, e há {whole(left)}. {charged}",
                f"{who}, ou faça uma consulta menor ou guardada, que custa menos.",
                problem.code,
            )
        case 429:
            wait = problem.retry_after_seconds or 1
            return Notice(
                "warn",
                "Muitas consultas em pouco tempo",
                f"A conta atingiu o limite de consultas do seu plano. {charged}"
                + ("" if available is None else f" Créditos disponíveis: {whole(available)}."),
                f"Espere {_wait(wait)} e consulte de novo.",
                problem.code,
            )
        case _:
            said = of_code(problem.code, problem.message, form)
            if problem.code == UNCERTAIN:
                return said
            return replace(said, text=f"{said.text} {charged}")


def _at_disposal(needed: int) -> str:
    return counted(needed, "crédito disponível", "créditos disponíveis")


def _wait(seconds: int) -> str:
    if seconds < 100:
        return f"{seconds} segundos" if seconds > 1 else "1 segundo"
    minutes = -(-seconds // 60)
    return f"{minutes} minutos" if minutes < 100 else f"{-(-minutes // 60)} horas"


def price(
    of: Question, quote: Quote, available: int | None, now_ms: int, unserved: str | None = None
) -> Price:
    """What this very question would cost now; `unserved`: its code, where nobody serves it."""
    if available is not None and quote.greatest > available:
        needed = _at_disposal(quote.greatest)
        short = f"Precisa de {needed}, e há {whole(max(available, 0))}."
        return Price(short, "warn")
    if quote.code == problems()[NothingInCache][1]:
        text = "Não há certidão guardada que ainda valha: sem resultado e sem custo."
        return Price(text, "warn", _FREE)
    if not quote.at_hand:
        if unserved is None:
            return _at_most(of, quote.greatest)
        return _UNSERVED.get(unserved, _UNANSWERED)
    if quote.code is not None:
        return _ABSENT
    cost = credits(quote.greatest)
    if quote.way == "own":
        return Price(f"A resposta está na nossa cópia do mês: {cost}.", "good", cost)
    asked = when(quote.asked_ms, now_ms)
    if of.uf == ALL:
        count = len(of.inquiries)
        return Price(
            f"Há resultados guardados das {count} UFs, desde {asked}: {cost}.", "good", cost
        )
    return Price(f"Há um resultado guardado de {asked}: {cost}.", "good", cost)


def when(at_ms: int | None, now_ms: int) -> str:
    """A day; of today also the hour, which tells more than the day."""
    if at_ms is None:
        return ""
    at, today = civil_day(at_ms), civil_day(now_ms)
    return instant(at_ms) if at == today else day(at)


def _at_most(of: Question, most: int) -> Price:
    addresses = ", mais 1 pelos endereços" if of.wants_addresses else ""
    at_most = f"até {credits(most)}"
    if of.uf == ALL:
        return Price(
            f"São {len(of.inquiries)} UFs{addresses}: {at_most}; só as que responderem"
            " são cobradas.",
            in_button=at_most,
        )
    within = " (1 pelos endereços)" if addresses else ""
    return Price(
        f"A{at_most[1:]}{within} se a fonte responder; nada, se ela falhar.", in_button=at_most
    )


_FREE = "sem custo"
_ABSENT = Price("A nossa cópia do mês já diz que não existe: sem custo.", "good", _FREE)
_UNANSWERED = Price(
    "Nenhuma fonte deste serviço pode responder esta consulta agora: sem resultado e sem custo.",
    "warn",
    _FREE,
)
_UNSERVED: Mapping[str, Price] = {
    "CNPJ_NAO_ENCONTRADO": _ABSENT,
    "UF_OBRIGATORIA": Price(_HOME_UNKNOWN, "warn", _FREE),
}
