// The control for the API's benchmark: shows what nginx, FastCGI and the machine can do without the service.
// The program runs the accept loop of libfcgi's examples in THREADS threads on an inherited socket, until it
// is killed. Every answer is the same constant JSON text. The program uses no database and writes no log.
#include <fcgiapp.h>

#include <boost/lexical_cast.hpp>
#include <csignal>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr const char* answer =
    "Status: 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\r\n{\"message\":\"hello\"}";

void serve() {
  constexpr int inherited_socket = 0;  // the FastCGI convention
  FCGX_Request request;
  if (FCGX_InitRequest(&request, inherited_socket, 0) != 0) return;
  while (FCGX_Accept_r(&request) == 0) {
    FCGX_PutS(answer, request.out);
    FCGX_Finish_r(&request);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2)
      throw std::invalid_argument("usage: bench_hello THREADS, with a listening socket as descriptor 0");
    if (FCGX_Init() != 0) throw std::runtime_error("libfcgi cannot start");
    std::signal(SIGTERM, SIG_DFL);  // libfcgi has set its own handler
    std::vector<std::jthread> threads(boost::lexical_cast<unsigned>(argv[1]));
    for (std::jthread& thread : threads) thread = std::jthread(serve);
  } catch (const std::exception& error) {
    std::cerr << "bench_hello: " << error.what() << '\n';
    return 1;
  }
}
