#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/access/api_key.h"
#include "coordinator/access/request_window.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Job::cache_salt of a request that shares the cache with all others that do: it has no holder, or
/// its holder's key says so. `request_salt` is that of the request, which chooses it, or empty. No
/// holder who shares with nobody has the same one.
std::string SharedCacheSalt(std::string_view request_salt);

/// The holder of a key, as a file of keys has it. Never changes: a file that is read again makes
/// new holders, which count on in the same windows.
struct KeyHolder {
  ApiKey key;
  ClientName name;  ///< The key's: that of the client, for all that clients share.
  std::shared_ptr<RequestWindow> window;
  std::uint64_t reading = 0;  ///< Which reading of the file has found it.

  /// The holder as the client of a connection's requests.
  ClientId Client(std::uint64_t connection) const { return {name, connection, name}; }
  /// Job::cache_salt of a request of the holder that has a salt of its own, or an empty one. No
  /// request of another holder has the same one, unless both share.
  std::string CacheSalt(std::string_view request_salt) const;
};

using Holder = std::shared_ptr<const KeyHolder>;

/// How a file of keys has changed.
struct KeyChanges {
  std::size_t keys = 0;     ///< Keys that are valid now.
  std::size_t added = 0;    ///< Of these, how many were not valid before.
  std::size_t revoked = 0;  ///< Keys that are no longer valid.
};

/// The keys of a service, which are those of a file. Safe to use from any thread.
class ApiKeys {
 public:
  /// A request has them in up to three fields.
  static constexpr std::size_t kMaxShownKeys = 4;

  /// Reads the file, which `flag` names. Throws StartupError, one line that names the flag, the
  /// file and the line at fault.
  explicit ApiKeys(std::filesystem::path file, std::string_view flag = "--api-keys");

  /// The holder of the first of `keys` that is valid; otherwise a 401. Empty texts are no keys, and
  /// those behind the first kMaxShownKeys are not looked at.
  proto::Expected<Holder> Find(const std::vector<std::string>& keys) const;

  /// The 401 of a holder whose key is no longer valid, or of a client that has shown none.
  std::optional<proto::Error> KeyFault(const Holder& holder) const;

  /// Lets a request in that is made by `holder`, of whom Find knew; null if the client has shown no
  /// key. Counts it, and returns the holder as the file now has it; or a 401 if the key is no
  /// longer valid, a 403 if it is not for `model`, a 429 if there are too many requests.
  proto::Expected<Holder> LetIn(const Holder& holder, std::string_view model,
                                Clock::time_point now) const;

  /// Reads the file again if it has changed, and logs what it finds. If it has a fault, the keys
  /// stay as they were, and the error is one line. A file that has not changed is not read: the
  /// keys are then the same, or the error is. Does not wait for another thread that reads it: what
  /// that one has not seen is read by the next call.
  proto::Expected<KeyChanges, std::string> Reload();
  /// Whether the file is another one than when it was read last, or has another time or size.
  bool HasFileChanged() const;

  std::size_t size() const { return Current()->by_hash.size(); }

 private:
  /// What a reading of the file has found.
  struct Holders {
    std::uint64_t reading = 0;                               ///< Readings are numbered.
    std::unordered_multimap<std::uint64_t, Holder> by_hash;  ///< See KeyDigest::Hash.
  };

  std::string CurrentMarks() const;
  /// Reads the file, and makes its holders. Throws StartupError.
  Holders Read();
  /// The result of Reload if the file has not changed.
  proto::Expected<KeyChanges, std::string> Unchanged() const;
  std::shared_ptr<const Holders> Current() const;
  /// Null if no holder has the key.
  Holder HolderOf(const KeyDigest& digest, const Holders& holders) const;
  /// The holder as the file now has it; null if it no longer has the key.
  Holder Renewed(const Holder& holder) const;

  const std::filesystem::path path_;
  const std::string name_;  ///< The flag and the file, for messages.
  const KeyDigest::Secret secret_ = NewSecret();

  std::mutex reading_;  ///< One reads the file at a time.
  mutable std::mutex mutex_;
  std::string marks_;  ///< FileMarks when it was read last, whether or not that succeeded.
  std::string fault_;  ///< Why the last reading failed; empty if it did not.
  std::shared_ptr<const Holders> holders_;
};

}  // namespace scorecast::coordinator
