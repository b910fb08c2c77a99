"""`/app/eu`: one's own password, second factor and open sessions."""

from collections.abc import Mapping

from starlette.responses import Response

from balcao.core.people import User
from balcao.web.kit import filters as asking
from balcao.web.kit import throttle
from balcao.web.kit.context import Visit
from balcao.web.kit.guard import MINUTE_MS
from balcao.web.pages.signing import second_factor
from balcao.web.pages.signing.pages import TOTP, names_of, new_password_problem, with_session

_CONFIRM_SECONDS = 900

_DONE: Mapping[str, str] = {
    "senha": "Senha trocada. As outras sessões foram encerradas.",
    "totp": "Segundo fator ligado. As outras sessões foram encerradas.",
    "sem-totp": "Segundo fator desligado.",
    "sessao": "Sessão encerrada.",
    "sessao-antes": "Essa sessão já tinha terminado.",
    "sessoes": "As outras sessões foram encerradas.",
}


async def show(visit: Visit) -> Response:
    """What one can change."""
    return _shown(visit, message=_DONE.get(visit.query("feito")))


def _shown(visit: Visit, status: int = 200, **said: object) -> Response:
    """The page; `said` is what became of a form."""
    here, settings = visit.person.session.session_id, visit.tools.settings
    open_ = visit.tools.desk.people.sessions(
        visit.person.user.user_id,
        visit.tools.now_ms(),
        settings.session_idle_minutes * MINUTE_MS,
        settings.session_hours * 60 * MINUTE_MS,
    )
    others = [one for one in open_ if one.session_id != here]
    return visit.page("eu.html", status, others=others, **said)


async def change_password(visit: Visit) -> Response:
    """With the present one; every other session ends, this one goes on under a new token."""
    tools, user = visit.tools, visit.person.user
    if (complaint := await _not_them(visit)) or (
        complaint := await new_password_problem(visit, user.email, names_of(visit, user))
    ):
        return _shown(visit, 422, alert=complaint)
    hashed = await tools.passwords.hash(visit.form.get("senha", ""))
    await tools.desk.people.set_password(user.user_id, hashed, visit.signed(), tools.now_ms())
    return await with_session(visit, user, visit.redirect("/app/eu", feito="senha"))


async def close_others(visit: Visit) -> Response:
    """Sign out everywhere else."""
    people = visit.tools.desk.people
    await people.close_other_sessions(visit.person.user.user_id, visit.person.token_digest)
    return visit.redirect("/app/eu", feito="sessoes")


async def close_one(visit: Visit) -> Response:
    """Sign out in one other browser; one that is gone already is as good, and is said to be."""
    number, people = visit.request.path_params["session_id"], visit.tools.desk.people
    ended = asking.is_number(number) and await people.close_one_session(
        visit.person.user.user_id, int(number)
    )
    return visit.redirect("/app/eu", feito="sessao" if ended else "sessao-antes")


async def begin_totp(visit: Visit) -> Response:
    """With the password: a new secret, shown as a picture; it counts from its first code on."""
    if visit.person.user.has_totp:
        return _shown(visit, 422, alert="Desligue antes o segundo fator que está ligado.")
    if (complaint := await _not_them(visit)) is not None:
        return _shown(visit, 422, alert=complaint)
    return _enrolment(visit, second_factor.new_secret())


async def turn_on(visit: Visit) -> Response:
    """The phone knows the secret: its first code."""
    tools, user = visit.tools, visit.person.user
    sealed = visit.typed("segredo").encode()
    secret = tools.seal.open(_new_secret_of(user), sealed, _CONFIRM_SECONDS)
    if secret is None or user.has_totp:
        return _shown(visit, 422, alert="A troca demorou demais. Comece de novo.")
    step = second_factor.step_of(secret, visit.typed("codigo"), tools.now_ms())
    if step is None:
        return _enrolment(visit, secret, "O código não confere. Tente com o próximo.")
    kept = tools.seal.close(TOTP, secret)
    await tools.desk.people.set_totp(user.user_id, kept, visit.signed(), tools.now_ms())
    await tools.desk.people.use_totp_step(user.user_id, step)
    await tools.desk.people.close_other_sessions(user.user_id, visit.person.token_digest)
    return visit.redirect("/app/eu", feito="totp")


async def turn_off(visit: Visit) -> Response:
    """With the password."""
    tools, user = visit.tools, visit.person.user
    if (complaint := await _not_them(visit)) is not None:
        return _shown(visit, 422, alert=complaint)
    await tools.desk.people.set_totp(user.user_id, None, visit.signed(), tools.now_ms())
    return visit.redirect("/app/eu", feito="sem-totp")


def _enrolment(visit: Visit, secret: bytes, alert: str | None = None) -> Response:
    address = second_factor.address(secret, visit.person.user.email)
    sealed = visit.tools.seal.close(_new_secret_of(visit.person.user), secret)
    return visit.page(
        "segundo_fator.html",
        422 if alert else 200,
        picture=second_factor.picture(address),
        typed=second_factor.as_text(secret),
        sealed=sealed.decode(),
        alert=alert,
    )


def _new_secret_of(user: User) -> bytes:
    """The seal's purpose: what was made for one user opens for no other."""
    return b"totp secret to be confirmed by %d" % user.user_id


async def _not_them(visit: Visit) -> str | None:
    """Somebody at an unlocked screen must not take the account over: the password, once more."""
    tools, user = visit.tools, visit.person.user
    tries = ((throttle.OF_CODES, f"password {user.user_id}"),)
    wait = tools.throttle.wait_seconds(tries, tools.now_ms())
    if wait:
        return throttle.patience(wait)
    known = tools.desk.people.credentials(user.email)
    right = await tools.passwords.verify(
        known.password_hash if known else None, visit.form.get("atual", "")
    )
    if not right:
        return "A senha atual não confere."
    tools.throttle.forgive(*tries)
    return None
