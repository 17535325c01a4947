// A strict reading of what a receiver sent in answer to one request (RFC 9110, RFC 9112). It shares nothing
// with the code under test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

struct Answer {
  enum class Verdict {
    valid,       // final status line and fields are whole and well-formed
    incomplete,  // they are not whole
    doubtful,    // a strict reader refuses it, a lenient one need not
  };
  Verdict verdict = Verdict::incomplete;
  int status = 0;                        // of `valid`
  std::vector<std::string> retry_after;  // of `valid`, one space for each fold
  bool ends = false;  // its body ends with the bytes: the connection can serve another request
};

Answer read_answer(std::string_view bytes);

}  // namespace fuzz
