// Applies the quota limits.registrations to what an entity registers and changes in an hour, because each
// leaves a row, and a URL may be dialled.
#pragma once

#include <string>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "lib/store/webhooks/registration_quota.hpp"

namespace api {

/// Returns what `work` returns for the quota. Turns the store's TooManyRegistrations into TooManyRequests;
/// `before` and `after` are its message around the number.
template <class F>
auto within_limit(const Call& call, const std::string& before, const std::string& after, F&& work) {
  const auto limit = call.limits.registrations;
  try {
    return work(limit);
  } catch (const store::TooManyRegistrations& refused) {
    throw TooManyRequests(before + std::to_string(limit) + after, refused.retry_after_s);
  }
}

template <class F>
auto within_registration_limit(const Call& call, F&& work) {
  return within_limit(call, "La entidad ha registrado demasiados webhooks: el máximo es ",
                      " por hora, y eliminarlos no lo amplía; vuelva a intentarlo más tarde", work);
}

template <class F>
auto within_change_limit(const Call& call, F&& work) {
  return within_limit(call, "La entidad ha hecho demasiados registros y cambios de webhooks: el máximo es ",
                      " por hora; vuelva a intentarlo más tarde", work);
}

}  // namespace api
