// A row of `contactos` as a Contact. Internal to this folder.
#pragma once

#include <string_view>

#include "lib/contacts/codes.hpp"
#include "lib/store/contacts/contacts.hpp"

namespace store {

static_assert(contacts::code_valid == std::chrono::days(1) && contacts::max_code_tries == 5,
              "select_contact says it");

/// SQL: what read_contact reads, before its FROM. `codigo_hasta` is NULL unless a code confirms now.
inline constexpr std::string_view select_contact = R"sql(
  SELECT id, entidad_id, plaza, correo, avisos, CAST(fecha_alta AS CHAR) AS fecha_alta,
    CAST(confirmado_en AS CHAR) AS confirmado_en, CAST(codigo_emitido AS CHAR) AS codigo_emitido,
    IF(codigo_intentos < 5 AND codigo_emitido > UTC_TIMESTAMP(3) - INTERVAL 1 DAY,
       CAST(codigo_emitido + INTERVAL 1 DAY AS CHAR), NULL) AS codigo_hasta,
    5 - codigo_intentos AS quedan, CAST(rechazado_en AS CHAR) AS rechazado_en)sql";
Contact read_contact(const Row& row);

}  // namespace store
