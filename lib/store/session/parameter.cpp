#include "lib/store/session/parameter.hpp"

#include "lib/store/session/datetime.hpp"

namespace store {

Parameter::Parameter(UtcTime v) : kind(Kind::text), text(format_datetime(v)) {}

}  // namespace store
