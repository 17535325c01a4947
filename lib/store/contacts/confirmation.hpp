// What the person at a contact's address does, and the mail server: confirms it, ends the notices, refuses.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/contacts/codes.hpp"
#include "lib/store/contacts/contacts.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

enum class CodeAsked { done, not_found, confirmed };
/// Asks for another code for a contact that is not confirmed, or that the mail server has refused: such a
/// contact must be confirmed again. Throws OverQuota over `codes_per_day` (0: no limit).
CodeAsked ask_contact_code(Session& session, const Author& author, std::int64_t number,
                           unsigned codes_per_day);

struct Confirmation {
  enum class Result {
    done,  // also if the contact was confirmed before
    not_found,
    wrong,    // and the code has `tries_left`
    no_code,  // none was asked for, also since the mail server refuses the contact; it has expired; or its
              // tries are used up
  };
  Result result;
  std::int64_t tries_left = 0;
};
/// Confirms a contact by the code that was mailed to it; counts a wrong try.
Confirmation confirm_contact(Session& session, const Author& author, std::int64_t number,
                             std::string_view code, const webhook::KeyRing& keys);

/// Ends every kind of notice to the contact, without a token (RFC 8058). It must be confirmed again, so that
/// no change of its kinds that the entity makes alone brings it a mail. Returns false when there is no such
/// contact, its id belongs to another address now, or that is so already.
bool unsubscribe(Session& session, const contacts::UnsubscribeLink& link, const webhook::KeyRing& keys);

/// The mail server has refused the address for good. `answer` is cut to 500 bytes. The first refusal stays.
void mark_refused(Session& session, ContactId id, std::string_view answer);

}  // namespace store
