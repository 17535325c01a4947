// The filter of the lists of deliveries (web/docs/entregas.md#filtrar-y-pasar-de-página).
#pragma once

#include <string>

#include "fcgi-app/http/query.hpp"
#include "lib/store/deliveries/delivery_log.hpp"

namespace api {

/// Reads `estado`, `evento`, `desde`, `hasta` and `conFallos`. Throws BadRequest.
store::LogFilter read_log_filter(const Query& query);

/// Returns the texts of these parameters as a cursor's question has them (cursor.hpp).
std::string filter_text(const Query& query);

}  // namespace api
