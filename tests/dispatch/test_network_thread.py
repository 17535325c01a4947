"""An exception in the network's thread ends the dispatcher: if only the thread ended, the dispatcher would run on and
send nothing. Only a bug or a lack of memory can cause such an exception."""
import subprocess

from support.wait import wait_until

BREAKER = r"""
#include <dlfcn.h>
#include <stdexcept>
#include <unistd.h>
extern "C" void* curl_multi_info_read(void* multi, int* left) {
  if (access(FLAG, F_OK) == 0) throw std::runtime_error("broken on purpose");
  using Function = void* (*)(void*, int*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "curl_multi_info_read"));
  return real(multi, left);
}
"""


def test_an_exception_in_the_networks_thread_ends_the_program_and_says_why(entity, receiver, stack, tmp_path):
    library, flag = tmp_path / "breaker.so", tmp_path / "flag"
    subprocess.run(["g++", "-x", "c++", "-shared", "-fPIC", f'-DFLAG="{flag}"', "-o", library, "-", "-ldl"],
                   input=BREAKER, text=True, check=True)
    hook = entity.register()
    arguments, environment = stack.command_of("dispatcher")
    # AddressSanitizer refuses to start behind another preloaded library.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    stack.stop("dispatcher")
    try:
        with open(tmp_path / "log", "wb") as log:
            process = subprocess.Popen(arguments, env={**environment, "LD_PRELOAD": str(library)}, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log)
        try:
            stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
            flag.touch()
            assert process.wait(30) != 0
        finally:
            process.kill()
            process.wait()
        assert "broken on purpose" in (tmp_path / "log").read_text()
        late = entity.notify()
    finally:
        stack.start("dispatcher")
    stack.wait_delivery(stack.delivery_id(late, hook.id), "entregada")
    wait_until(lambda: len(receiver.requests(hook.path)) == 2, what="both to arrive")
