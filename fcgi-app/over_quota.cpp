#include "fcgi-app/over_quota.hpp"

#include <string>

#include "fcgi-app/rate_limit.hpp"

namespace api {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1 << 20;
  return bytes % mib == 0 ? std::to_string(bytes / mib) + " MiB" : std::to_string(bytes) + " bytes";
}

std::string replayed_message(unsigned limit, std::uint64_t left) {
  const auto before = "La entidad puede reenviar " + std::to_string(limit);
  if (left == 0)
    return before + " entregas en 24 horas y ahora no le queda ninguna: vuelva a intentarlo más tarde";
  return before + " entregas en 24 horas y ahora le quedan " + std::to_string(left) +
         ": acote las fechas, o vuelva a intentarlo más tarde";
}

std::string message_of(const store::OverQuota& refused, const config::LimitSettings& limits) {
  switch (refused.quota) {
    case store::Quota::registrations:
      return "La entidad ha registrado demasiados webhooks: el máximo es " +
             std::to_string(limits.registrations) +
             " por hora, y eliminarlos no lo amplía; vuelva a intentarlo más tarde";
    case store::Quota::changes:
      return "La entidad ha hecho demasiados registros y cambios de webhooks y de contactos: el máximo es " +
             std::to_string(limits.registrations) + " por hora; vuelva a intentarlo más tarde";
    case store::Quota::replay_requests:
      return "La entidad ha pedido demasiados reenvíos y simulaciones: el máximo es " +
             std::to_string(limits.replay_requests) + " por hora; vuelva a intentarlo más tarde";
    case store::Quota::diagnostics:
      return "La entidad ha pedido demasiados diagnósticos: el máximo es " +
             std::to_string(limits.diagnostics) + " por hora; vuelva a intentarlo más tarde";
    case store::Quota::contact_codes:
      return "La entidad ha pedido demasiados códigos de confirmación: el máximo es " +
             std::to_string(limits.contact_codes) + " al día; vuelva a intentarlo más tarde";
    case store::Quota::codes_to_address:
      static_assert(store::most_codes_to_address_of_entity == 3 && store::most_codes_to_address == 6);
      return "A esa dirección se han enviado ya demasiados códigos: en un día, el máximo es 3 de una "
             "entidad, "
             "y 6 en total; vuelva a intentarlo más tarde";
    case store::Quota::test_bytes:
      return "Las pruebas de la entidad ocupan demasiado: el máximo es " + bytes_text(limits.test_bytes) +
             " al día, sea cual sea el token; reduzca datosExtra, o vuelva a intentarlo más tarde";
    case store::Quota::replayed:
      return replayed_message(limits.replayed, refused.left);
    case store::Quota::pending_tests:
      return "La entidad tendría más de " + std::to_string(limits.pending_test_deliveries) +
             " envíos de prueba pendientes; espere a que terminen los que hay, o elimine los webhooks que no "
             "responden, y vuelva a intentarlo";
  }
  return {};
}

}  // namespace

TooManyRequests over_quota(const store::OverQuota& refused, const config::LimitSettings& limits) {
  return {message_of(refused, limits), refused.retry_after_s,
          rate_limit(refused.quota, refused.left, refused.retry_after_s, limits)};
}

}  // namespace api
