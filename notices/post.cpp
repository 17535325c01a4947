#include "notices/post.hpp"

#include <algorithm>
#include <thread>

#include "lib/contacts/kinds.hpp"
#include "lib/mail/smtp.hpp"
#include "lib/store/notices/facts.hpp"
#include "lib/store/notices/notices.hpp"
#include "lib/text/email_address.hpp"
#include "notices/gather.hpp"
#include "notices/guarded.hpp"
#include "notices/letter.hpp"

namespace notices {

namespace {

using namespace std::chrono_literals;

static_assert(store::mail_lease > 2 * mail::longest_send, "a mail must not outlive its lease");

/// A long run looks for new codes this often.
constexpr platform::Milliseconds codes_interval = 15s;

/// Whether the notice says that a webhook receives nothing, so that notifications wait for it.
bool tells_of_waiting(const store::Notice& notice) {
  const auto kind = contacts::find_kind(notice.kind);
  return notice.webhook && (kind == contacts::Kind::failing || kind == contacts::Kind::deactivation_near ||
                            kind == contacts::Kind::deactivated);
}

/// Spaces the mails. A delay of up to a second is made up for.
class Pace {
 public:
  void wait() {
    const auto now = platform::monotonic_now();
    if (now < next_) std::this_thread::sleep_for(next_ - now);
    next_ = std::max(next_, now - 1s) + mail_interval;
  }

 private:
  platform::MonotonicTime next_ = platform::monotonic_now();
};

class Post {
 public:
  Post(store::Session& session, const config::Settings& settings, const webhook::KeyRing& keys,
       const platform::Log& log)
      : session_(session), settings_(settings), keys_(keys), log_(log), client_(settings.mail) {}

  /// Returns false when no further mail should be tried in this run.
  bool send(store::Mail& mail) {
    const auto taken = platform::monotonic_now();
    for (auto& notice : mail.notices)
      if (tells_of_waiting(notice)) notice.waiting = store::count_waiting(session_, *notice.webhook);
    const auto letter = write_letter(mail, settings_, keys_, platform::utc_now());
    if (letter.to.empty() || !text::is_email_address(letter.to)) {
      store::note_refused(session_, mail, "the address is not one of RFC 5321");
      return true;
    }
    const auto text = mail::format(letter);
    pace_.wait();
    // After a stop of this process another run may have taken the mail.
    if (platform::monotonic_now() - taken > store::mail_lease / 2) return true;
    const auto result = client_.send(letter.to, text);
    note(mail, result);
    return result.outcome != mail::Sent::unavailable;
  }

  /// For a mail that no text could be written for: the others go on.
  void defer(const store::Mail& mail, std::string_view why) {
    ++posted_.deferred;
    log_.warning("a mail was not accepted; trying again",
                 {{"contact", mail.contact}, {"mail", mail.id}, {"tries", mail.tries}, {"answer", why}});
    store::note_deferred(session_, mail, wait_after(mail.tries), why);
  }

  const Posted& posted() const { return posted_; }

 private:
  void note(const store::Mail& mail, const mail::SendResult& result) {
    switch (result.outcome) {
      case mail::Sent::accepted:
        ++posted_.sent;
        guarded(log_,
                "a mail was sent, but that was not recorded: it will be sent again, with the same Message-ID",
                [&] { store::note_sent(session_, mail); });
        return;
      case mail::Sent::refused:
        ++posted_.refused;
        log_.warning("the mail server refuses a contact's address",
                     {{"contact", mail.contact}, {"mail", mail.id}, {"answer", result.text}});
        return store::note_refused(session_, mail, result.text);
      case mail::Sent::deferred:
      case mail::Sent::unavailable:
        break;
    }
    defer(mail, result.text);
  }

  store::Session& session_;
  const config::Settings& settings_;
  const webhook::KeyRing& keys_;
  const platform::Log& log_;
  mail::SmtpClient client_;
  Pace pace_;
  Posted posted_;
};

}  // namespace

platform::Milliseconds wait_after(unsigned tries) {
  constexpr unsigned most_doublings = 7;
  return std::min<platform::Milliseconds>(
      1min * (1U << std::min(tries - std::min(tries, 1U), most_doublings)), 2h);
}

Posted post(store::Session& session, const config::Settings& settings, const webhook::KeyRing& keys,
            const platform::StopSignal& stop, const platform::Log& log) {
  Post post(session, settings, keys, log);
  const auto end = platform::monotonic_now() + longest_run;
  auto look = platform::monotonic_now() + codes_interval;
  store::AddressRests rests;
  while (!stop.requested() && platform::monotonic_now() < end) {
    if (platform::monotonic_now() >= look) {
      gather_codes(session, log);
      look = platform::monotonic_now() + codes_interval;
    }
    auto mail = store::take_mail(session, rests);
    if (!mail) break;
    try {
      if (!post.send(*mail)) break;
    } catch (const store::Unavailable&) {
      throw;
    } catch (const std::exception& error) {
      const std::string why = error.what();
      guarded(log, "a mail's next try was not recorded: its lease ends in minutes",
              [&] { post.defer(*mail, why); });
    }
  }
  return post.posted();
}

}  // namespace notices
