// The daily digest for the operator (mail.operator): webhooks that fail, entities without a contact, and
// mails that were not sent.
#pragma once

#include <optional>

#include "lib/mail/message.hpp"
#include "lib/store/notices/notices.hpp"

namespace notices {

/// Returns the digest of `day` as the tables are now; nullopt: there is nothing to tell.
std::optional<store::NewNotice> make_digest(store::Session& session, std::chrono::sys_days day,
                                            platform::Milliseconds disable_after);

/// Sets subject and text, from the data of make_digest(). Pure.
void write_digest(mail::Message& message, const store::Notice& digest);

}  // namespace notices
