"""A mail server (aiosmtpd) that misbehaves on demand, and keeps what it has accepted."""
from __future__ import annotations

import asyncio
import email
import email.policy
import ssl
import threading
from dataclasses import dataclass

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult


@dataclass(frozen=True)
class Accepted:
    sender: str
    recipient: str
    raw: bytes

    @property
    def message(self) -> email.message.EmailMessage:
        """Raises an error if the mail is not as RFC 5322 and MIME demand."""
        return email.message_from_bytes(self.raw, policy=email.policy.SMTP.clone(raise_on_defect=True))


class MailServer:
    """`answers`: by recipient, lists of answers to RCPT, each used once; the default is "250 OK". `at_data`: called with the
    recipient before the answer to a mail's end; what it returns is the answer, and None ends the connection instead.
    `at_command`: called with "MAIL" or "RCPT" before the answer to that command."""

    def __init__(self, certificate: tuple | None = None, implicit_tls: bool = False, password: str | None = None):
        self.accepted: list[Accepted] = []
        self.answers: dict[str, list[str]] = {}
        self.at_data = lambda recipient: "250 OK"
        self.at_command = lambda command: None
        self.accepts_first = False  # accepts a mail before at_data() is called
        self.connections = 0
        self.password = password
        context = None
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*certificate)
        server = self

        class Protocol(SMTP):
            def connection_made(self, transport):
                if not hasattr(self, "counted"):
                    self.counted = True
                    server.connections += 1
                super().connection_made(transport)

        class Here(Controller):
            def factory(self):
                options = {"tls_context": context, "require_starttls": True} if context and not implicit_tls else {}
                if password:
                    options |= {"auth_required": True, "auth_require_tls": False, "authenticator": server.log_in}
                return Protocol(self.handler, hostname="correo.test", **options)

        self.controller = Here(self, hostname="127.0.0.1", port=0, ssl_context=context if implicit_tls else None,
                               ready_timeout=60)

    def __enter__(self) -> "MailServer":
        # aiosmtpd's start() connects to the port that it was given, which is 0.
        self.loop = self.controller.loop
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.ready = threading.Event()
        self.thread.start()
        assert self.ready.wait(60)
        return self

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(self.loop.create_server(
            self.controller.factory, host="127.0.0.1", port=0, ssl=self.controller.ssl_context))
        self.port = self.server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()
        self.server.close()
        self.loop.run_until_complete(self.server.wait_closed())
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def __exit__(self, *_) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    # aiosmtpd calls these.

    def log_in(self, server, session, envelope, mechanism, given) -> AuthResult:
        right = mechanism in ("LOGIN", "PLAIN") and given.password == self.password.encode()
        return AuthResult(success=right, handled=False)

    async def handle_MAIL(self, server, session, envelope, address, options):
        await self._call(self.at_command, "MAIL")
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        await self._call(self.at_command, "RCPT")
        answers = self.answers.get(address)
        answer = answers.pop(0) if answers else "250 OK"
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope):
        recipient = envelope.rcpt_tos[0]
        mail = Accepted(envelope.mail_from, recipient, envelope.original_content)
        if first := self.accepts_first:
            self.accepted.append(mail)
        answer = await self._call(self.at_data, recipient)
        if not first and (answer is None or answer.startswith("250")):
            self.accepted.append(mail)
        if answer is None:
            server.transport.abort()
            return "250 OK"
        return answer

    @staticmethod
    async def _call(function, argument):
        """Calls it in a thread, so that it may wait."""
        return await asyncio.get_running_loop().run_in_executor(None, function, argument)

    def mails_to(self, recipient: str) -> list[Accepted]:
        return [one for one in self.accepted if one.recipient == recipient]
