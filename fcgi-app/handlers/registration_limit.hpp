// limits.registrations: of what an entity registers and changes in an hour, since each is a row that is kept,
// and a URL is something to dial.
#pragma once

#include <string>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "lib/store/webhooks/registration_quota.hpp"

namespace api {

/// What `work`, given the limit, returns. Throws TooManyRequests for the store's TooManyRegistrations:
/// `before` and `after` are its message around the limit.
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
