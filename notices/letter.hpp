// Makes the mail of the notices to a contact. Pure.
#pragma once

#include "lib/config/config.hpp"
#include "lib/mail/message.hpp"
#include "lib/store/notices/notices.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace notices {

/// `keys`: of the code, and of the link that ends the notices. For the operator `to` is mail.operator.
mail::Message write_letter(const store::Mail& mail, const config::Settings& settings,
                           const webhook::KeyRing& keys, platform::UtcTime now);

}  // namespace notices
