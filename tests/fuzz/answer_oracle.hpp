// Reads strictly what a receiver sent in answer to one request (RFC 9110, RFC 9112). Shares no code with the
// dispatcher's sender, the code under test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

struct Answer {
  enum class Verdict {
    valid,       // the final status line and the fields are whole and well-formed
    incomplete,  // the final status line or the fields are not whole
    doubtful,    // the dispatcher's sender may accept the answer or refuse it
  };
  Verdict verdict = Verdict::incomplete;
  int status = 0;                        // only if `valid`
  std::vector<std::string> retry_after;  // only if `valid`; a folded line is joined by one space
  bool ends = false;  // the body ends where the bytes end, so the connection can serve another request
};

Answer read_answer(std::string_view bytes);

}  // namespace fuzz
