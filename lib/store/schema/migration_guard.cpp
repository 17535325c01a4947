#include "lib/store/schema/migration_guard.hpp"

#include "lib/crypto/crypto.hpp"
#include "lib/store/session/microseconds.hpp"

namespace store {

namespace {

constexpr std::string_view take_guard = R"sql(
  UPDATE migracion_guardia SET duena = ?, hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
  WHERE id = 1 AND (duena IS NULL OR hasta < UTC_TIMESTAMP(3)))sql";

constexpr std::string_view renew_guard = R"sql(
  UPDATE migracion_guardia SET hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND WHERE duena = ?)sql";

constexpr std::string_view guard_is_held = "SELECT 1 FROM migracion_guardia WHERE id = 1 AND duena = ?";

constexpr std::string_view release_guard =
    "UPDATE migracion_guardia SET duena = NULL, hasta = NULL WHERE duena = ?";

}  // namespace

MigrationGuard::MigrationGuard(Session& session, platform::Milliseconds silence)
    : session_(session), silence_(silence), owner_(crypto::to_hex(crypto::random_bytes(16))) {}

MigrationGuard::~MigrationGuard() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  try {
    session_.update(release_guard, owner_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the guard expires
  }
}

bool MigrationGuard::take() {
  if (session_.update(take_guard, owner_, microseconds(silence_)) != 1) return false;
  thread_ = std::jthread([this](const std::stop_token& stop) { renew_until(stop); });
  return true;
}

bool MigrationGuard::held(Session& session) const { return !session.query(guard_is_held, owner_).empty(); }

void MigrationGuard::renew_until(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, silence_ / 5, [&] { return stop.stop_requested(); })) {
    try {
      session_.update(renew_guard, microseconds(silence_), owner_);
    } catch (...) {  // NOLINT(bugprone-empty-catch): the thread tries again after the next wait
    }
  }
}

}  // namespace store
