// The duties of upkeep, each at its own pace by the monotonic clock.
#pragma once

#include "platform/config.hpp"
#include "platform/log.hpp"
#include "store/maintenance.hpp"
#include "store/session.hpp"

namespace dispatcher {

class Upkeep {
 public:
  Upkeep(platform::RetentionSettings retention, platform::Log log)
      : retention_(retention), log_(std::move(log)) {}

  /// Does what is due. Throws what the store throws.
  void run(store::Session& session, platform::MonotonicTime now);

 private:
  void recover_leases(store::Session& session);
  void reconcile(store::Session& session);
  void purge(store::Session& session, platform::MonotonicTime now);

  platform::RetentionSettings retention_;
  platform::Log log_;
  store::PurgeCursor cursor_;
  platform::MonotonicTime next_recovery_{};
  platform::MonotonicTime next_reconciliation_{};
  platform::MonotonicTime next_purge_{};
};

}  // namespace dispatcher
