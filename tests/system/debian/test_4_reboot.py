"""A boot of the machine with work pending."""
from fakes.receiver import Behaviour
from support.wait import wait_until

ROWS = 40


def test_a_reboot_with_work_pending(machine, installation, figure):
    entity = installation.entity()
    hook = entity.register()
    installation.receiver.behave(hook.path, Behaviour(fault="silent"))
    written = [entity.notify() for _ in range(ROWS)]
    installation.receiver.wait(hook.path, 1, 30)  # some are in flight, the rest waits
    installation.close_connections()
    machine.reboot()
    machine.enter_network()
    installation.open()
    installation.receiver.behave(hook.path)
    installation.wait_working(120)
    delivered = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'"
    wait_until(lambda: installation.sql(delivered) == [[str(ROWS)]], 90, "everything to be delivered", every=0.5)
    assert len(written) == ROWS
    figure(f"reboot with {ROWS} rows pending: {ROWS - int(installation.sql(delivered)[0][0])} deliveries lost")
