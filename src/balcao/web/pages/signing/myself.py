"""`/app/eu`: one's own password, second factor, open sessions and theme."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.responses import Response

from balcao.accounts.recovery import code_digest, new_codes
from balcao.accounts.seal import TOTP_SECRET
from balcao.core.people import User, must_set_up_second_factor
from balcao.web.kit import filters, guard, returning, theme, throttle
from balcao.web.kit.context import PageContext
from balcao.web.kit.guard import MINUTE_MS
from balcao.web.pages.signing import second_factor
from balcao.web.pages.signing.pages import (
    is_second_factor,
    names_of,
    new_password_problems,
    with_session,
)

_FAILURES = 5  # of signing in, shown
_CONFIRM_SECONDS = 900
_JUST_SIGNED_IN_MS = 10 * MINUTE_MS
_TOO_LATE = "O tempo para ativar terminou. Comece de novo."
_YEAR_SECONDS = 365 * 86_400

_DONE: Mapping[str, str] = {
    "senha": "Senha trocada. As outras sessões foram encerradas.",
    "sem-totp": "Segundo fator desativado.",
    "sessao": "Sessão encerrada.",
    "sessao-antes": "Essa sessão já tinha terminado.",
    "sessoes": "As outras sessões foram encerradas.",
}


async def show(context: PageContext) -> Response:
    """Show the settings of the signed-in person."""
    return await _shown(context, message=_DONE.get(context.query("feito")))


async def _shown(context: PageContext, status: int = 200, **values: object) -> Response:
    """Return the page; `values` is the outcome of a form."""
    here, settings = context.person.session.session_id, context.settings
    open_ = context.desk.people.sessions(
        context.person.user.user_id,
        context.now_ms(),
        settings.session_idle_minutes * MINUTE_MS,
        settings.session_hours * 60 * MINUTE_MS,
    )
    others = [one for one in open_ if one.session_id != here]
    codes = await context.desk.recovery_codes.left(context.person.user.user_id)
    return context.page(
        "eu.html",
        status,
        others=others,
        codes_left=codes,
        failures=context.desk.people.failed_sign_ins(context.person.user.user_id, _FAILURES),
        factor_is_required=_is_required(context),
        **values,
    )


async def change_password(context: PageContext) -> Response:
    """Change the password and end other sessions; this one continues under a new token."""
    tools, user = context.tools, context.person.user
    if (complaint := await _password_complaint(context)) is not None:
        return await _shown(context, 422, complaints={"atual": complaint})
    if complaints := await new_password_problems(context, user.email, names_of(context, user)):
        return await _shown(context, 422, complaints=complaints)
    hashed = await tools.passwords.hash(context.form.get("senha", ""))
    await tools.desk.people.set_password(user.user_id, hashed, context.signature(), tools.now_ms())
    return await with_session(context, user, context.redirect("/app/eu", feito="senha"))


async def close_others(context: PageContext) -> Response:
    """Sign out in all other browsers, given the password."""
    people = context.desk.people
    if (complaint := await _password_complaint(context)) is not None:
        return await _shown(context, 422, complaints={"atual_sessoes": complaint})
    await people.close_other_sessions(context.person.user.user_id, context.person.token_digest)
    return context.redirect("/app/eu", feito="sessoes")


async def close_one(context: PageContext) -> Response:
    """Sign out in one other browser, given the password; report if that session had ended."""
    number, people = context.request.path_params["session_id"], context.desk.people
    if (complaint := await _password_complaint(context)) is not None:
        return await _shown(context, 422, complaints={"atual_sessoes": complaint})
    ended = filters.is_number(number) and await people.close_one_session(
        context.person.user.user_id, int(number)
    )
    return context.redirect("/app/eu", feito="sessao" if ended else "sessao-antes")


async def set_up(context: PageContext) -> Response:
    """Show a new secret to a person who needs a second factor; the password, if not just given."""
    person = context.person
    if not person.lacks_second_factor:
        return context.redirect("/app/eu")
    if context.now_ms() - person.session.opened_ms > _JUST_SIGNED_IN_MS:
        return context.page("segundo_fator_exigido.html")
    return _enrolment(context, second_factor.new_secret())


async def begin_totp(context: PageContext) -> Response:
    """Show a new secret as a QR code, given the password; it takes effect with its first code."""
    person = context.person
    if person.user.has_totp:
        return await _shown(context, 422, alert="Desative antes o segundo fator atual.")
    if (complaint := await _password_complaint(context)) is not None:
        complaints = {"atual_totp": complaint}
        if person.lacks_second_factor:
            return context.page("segundo_fator_exigido.html", 422, complaints=complaints)
        return await _shown(context, 422, complaints=complaints)
    return _enrolment(context, second_factor.new_secret())


async def turn_on(context: PageContext) -> Response:
    """Turn the second factor on, given the phone's first code."""
    tools, user = context.tools, context.person.user
    sealed = context.typed("segredo").encode()
    secret = tools.seal.open(_new_secret_of(user), sealed, _CONFIRM_SECONDS)
    if secret is None and context.person.lacks_second_factor:
        return context.page("segundo_fator_exigido.html", 422, alert=_TOO_LATE)
    if secret is None or user.has_totp:
        return await _shown(context, 422, alert=_TOO_LATE)
    step = second_factor.step_of(secret, context.typed("codigo"), tools.now_ms())
    if step is None:
        complaints = {"codigo": "Código incorreto. Tente com o próximo."}
        return _enrolment(context, secret, complaints)
    kept, codes = tools.seal.close(TOTP_SECRET, secret), new_codes()
    await tools.desk.people.set_totp(
        user.user_id,
        kept,
        context.signature(),
        tools.now_ms(),
        recovery=[code_digest(tools.seal, user.user_id, code) for code in codes],
    )
    await tools.desk.people.use_totp_step(user.user_id, step)
    await tools.desk.people.close_other_sessions(user.user_id, context.person.token_digest)
    return _codes(context, codes, turned_on=True)


async def renew_codes(context: PageContext) -> Response:
    """Replace the recovery codes, given the password and the second factor, and show them once."""
    tools, user = context.tools, context.person.user
    if (complaint := await _password_complaint(context)) is not None:
        return await _shown(context, 422, alert=complaint)
    if (complaint := await _factor_complaint(context)) is not None:
        return await _shown(context, 422, alert=complaint)
    codes = new_codes()
    digests = [code_digest(tools.seal, user.user_id, code) for code in codes]
    await tools.desk.recovery_codes.renew(
        user.user_id, digests, context.signature(), tools.now_ms()
    )
    return _codes(context, codes, turned_on=False)


def _codes(context: PageContext, codes: Sequence[str], *, turned_on: bool) -> Response:
    return context.page("codigos_de_recuperacao.html", 201, codes=codes, turned_on=turned_on)


async def turn_off(context: PageContext) -> Response:
    """Turn the second factor off, given the password and the second factor."""
    tools, user = context.tools, context.person.user
    if _is_required(context):
        return await _shown(context, 422, alert="O seu acesso exige o segundo fator.")
    if (complaint := await _password_complaint(context)) is not None:
        return await _shown(context, 422, complaints={"atual_totp": complaint})
    if (complaint := await _factor_complaint(context)) is not None:
        return await _shown(context, 422, complaints={"codigo_totp": complaint})
    await tools.desk.people.set_totp(user.user_id, None, context.signature(), tools.now_ms())
    return context.redirect("/app/eu", feito="sem-totp")


def _is_required(context: PageContext) -> bool:
    """Return whether this person would have to set up a second factor again (contract 7.9)."""
    session = context.person.session
    return must_set_up_second_factor(
        context.settings.second_factor,
        replace(session, user=replace(session.user, has_totp=False)),
        only_test_accounts=context.desk.has_only_test_accounts(),
    )


def _enrolment(
    context: PageContext, secret: bytes, complaints: Mapping[str, str] | None = None
) -> Response:
    address = second_factor.address(secret, context.person.user.email)
    sealed = context.tools.seal.close(_new_secret_of(context.person.user), secret)
    return context.page(
        "segundo_fator.html",
        422 if complaints else 200,
        picture=second_factor.picture(address),
        typed=second_factor.as_text(secret),
        sealed=sealed.decode(),
        complaints=complaints or {},
    )


def _new_secret_of(user: User) -> bytes:
    """Return the encryption purpose of a new secret: only the same user can decrypt it."""
    return b"totp secret to be confirmed by %d" % user.user_id


async def _password_complaint(context: PageContext) -> str | None:
    """Check the typed password, against misuse of an unlocked screen; None: it is right."""
    tools, user = context.tools, context.person.user
    tries = ((throttle.CODES_LIMIT, f"password {user.user_id}"),)
    wait = tools.throttle.wait_seconds(tries, tools.now_ms())
    if wait:
        return throttle.wait_message(wait)
    known = tools.desk.people.credentials(user.email)
    right = await tools.passwords.verify(
        known.password_hash if known else None, context.form.get("atual", "")
    )
    if not right:
        return "Senha atual incorreta."
    tools.throttle.refund(*tries)
    return None


async def choose_theme(context: PageContext) -> Response:
    """Remember light, dark or neither in this browser, and return to the page."""
    chosen = context.typed("tema")
    response = context.redirect(returning.local_address(context.typed("para")))
    guard.set_cookie(
        response,
        theme.COOKIE,
        chosen if chosen in theme.THEMES else "system",
        secure=context.is_secure,
        max_age=_YEAR_SECONDS,
    )
    return response


async def _factor_complaint(context: PageContext) -> str | None:
    """Check the typed code, of the phone or for recovery; None: it is right, and used up."""
    tools, user = context.tools, context.person.user
    known = tools.desk.people.credentials(user.email)
    if known is None or known.totp_secret is None:
        return "Ative antes o segundo fator."
    tries = [(limit, str(user.user_id)) for limit in throttle.CODES_LIMITS]
    if wait := tools.throttle.wait_seconds(tries, tools.now_ms()):
        return throttle.wait_message(wait)
    if not await is_second_factor(context, known, context.typed("codigo")):
        return "Código do segundo fator incorreto ou já usado."
    tools.throttle.refund(*tries)
    return None
