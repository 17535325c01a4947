// Internal to lib/store/notices: who a mail goes to, and what the contact wants now.
#pragma once

#include "lib/store/notices/notices.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// The contact of a mail; `mail.address` is empty if the contact was removed, or is the operator's.
struct MailRecipient {
  Mail mail;
  contacts::KindSet kinds;
  bool usable = false;
  bool confirmed = false;
};
MailRecipient find_recipient(Session& session, ContactId contact);

bool is_wanted(const MailRecipient& to, const Notice& notice);

/// Reads a row of `avisos`.
Notice read_notice(const Row& row);

/// The mail's id, before the `@`.
std::string new_mail_id(NoticeId first);

}  // namespace store
