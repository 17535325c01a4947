"""A dispatcher that does not run for longer than its time-outs (SIGSTOP, like a frozen cgroup or a paused machine). What it
misses is no failure of a receiver."""
import contextlib
import time

from fakes.receiver import Behaviour
from fakes.tcp import tcp_server
from support import diagnosis
from support.frozen import frozen
from support.stack import EVENTS, setting
from support.wait import wait_until

CONNECT_TIMEOUT, TIMEOUT = 1, 6  # seconds; the attempts begin before the dispatcher is stopped, and must not end before that
SETTINGS = setting(delivery_connect_timeout=f"{CONNECT_TIMEOUT}s", delivery_timeout=f"{TIMEOUT}s", delivery_lease="30s")


@contextlib.contextmanager
def stopped(pid: int):
    """Stops the process for longer than each of its attempts may take."""
    with frozen(pid):
        until = time.monotonic() + TIMEOUT + 0.5
        yield
        wait_until(lambda: time.monotonic() > until, what="the time-outs to pass")


def test_a_dispatcher_that_was_stopped_charges_nobody(entity, new_entity, receiver, stack):
    other = new_entity()
    answers, silent, hangs_up = hooks = [entity.register([event]) for event in EVENTS[:3]]
    diagnosed = other.register()
    receiver.behave(answers.path, Behaviour(hold=True))
    receiver.behave(silent.path, Behaviour(fault="silent"), Behaviour())
    receiver.behave(hangs_up.path, Behaviour(hold=True, fault="hang_up"), Behaviour())
    receiver.behave(diagnosed.path, Behaviour(fault="silent"))
    with tcp_server(lambda connection: connection.recv(1) and time.sleep(60)) as port, stack.dispatcher_with(**SETTINGS):
        pid, = stack.pids("dispatcher")
        connecting = entity.register([EVENTS[3]], port=port)
        diagnosis.ask(other, diagnosed)
        receiver.wait(diagnosed.path)
        ids = [stack.delivery_id(entity.notify(event), hook.id) for event, hook in zip(EVENTS, [*hooks, connecting])]
        for hook in hooks:
            receiver.wait(hook.path)
        with stopped(pid):
            for hook in (answers, hangs_up):
                receiver.release(hook.path)
            wait_until(lambda: not receiver.in_flight(answers.path) and not receiver.in_flight(hangs_up.path), what="an answer")
        for id in ids[:3]:
            assert stack.wait_delivery(id, "entregada")["intentos"] == 1
            assert [attempt["estado_http"] for attempt in stack.attempts(id)] == [200]
        assert [len(receiver.requests(hook.path)) for hook in hooks] == [1, 2, 2]
        wait_until(lambda: stack.attempts(ids[3]), what="an attempt that is counted")
        assert stack.attempts(ids[3])[0]["duracion_ms"] < TIMEOUT * 1000, "not the one that was in flight"
        diagnosis.wait_ended(other, diagnosed, "fallido")
