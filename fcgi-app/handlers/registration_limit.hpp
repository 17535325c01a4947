// limits.registrations: a webhook's URL, whether it is new or another one, is something to dial.
#pragma once

#include <string>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "store/webhooks/registration_quota.hpp"

namespace api {

/// What `work`, given the limit, returns. Throws TooManyRequests for the store's TooManyRegistrations.
template <class F>
auto within_registration_limit(const Call& call, F&& work) {
  const auto limit = call.limits.registrations;
  try {
    return work(limit);
  } catch (const store::TooManyRegistrations& refused) {
    throw TooManyRequests("La entidad ha registrado demasiados webhooks: el máximo es " +
                              std::to_string(limit) +
                              " por hora, y eliminarlos no lo amplía; vuelva a intentarlo más tarde",
                          refused.retry_after_s);
  }
}

}  // namespace api
