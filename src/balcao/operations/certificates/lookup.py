"""The rules of the two certificates: what is kept costs less than what is asked for."""

from balcao.core.tariff import Rule, Rules

FEDERAL: Rules = {
    "federal_certificate/cache": Rule(
        "certidão federal: 1 por resultado do cache",
        "1 crédito por resultado que já estava guardado.",
    ),
    "federal_certificate/online": Rule(
        "certidão federal: 2 por resultado da fonte",
        "2 créditos por resultado obtido da fonte na hora, também quando ele não é CND nem CPEND.",
    ),
}

STATE: Rules = {
    "state_certificate/cache": Rule(
        "certidão estadual: 1 por certidão do cache",
        "1 crédito por certidão que já estava guardada.",
    ),
    "state_certificate/online": Rule(
        "certidão estadual: 2 por consulta à fonte",
        "2 créditos por consulta concluída na fonte, também quando ela não emite certidão.",
    ),
}
