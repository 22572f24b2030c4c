#include "coordinator/access/api_keys.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include <sys/stat.h>

#include "coordinator/access/file_watch.h"
#include "coordinator/access/key_file.h"
#include "proto/base/count.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{16} << 20;

proto::Error Unauthorized(std::string message) {
  return {401, "unauthorized", std::move(message), "Authorization"};
}

proto::Error NoKey() {
  return Unauthorized(
      "This server needs an API key: \"Authorization: Bearer KEY\", x-api-key or api-key over "
      "HTTP, "
      "--api-key or SCORECAST_API_KEY for scorecast's commands.");
}

template <typename Holders>
std::set<std::string> DigestsOf(const Holders& holders) {
  std::set<std::string> digests;
  for (const auto& [hash, holder] : holders) {
    digests.insert(holder->key.digest.ToHex());
  }
  return digests;
}

proto::Error WrongKey() { return Unauthorized("The API key is not one of this server's."); }

}  // namespace

std::string SharedCacheSalt(std::string_view request_salt) {
  return request_salt.empty() ? "" : "shared " + std::string(request_salt);
}

std::string KeyHolder::CacheSalt(std::string_view request_salt) const {
  if (!key.limits.shares_cache) {
    return "key " + key.name + " " + std::string(request_salt);
  }
  return SharedCacheSalt(request_salt);
}

ApiKeys::ApiKeys(std::filesystem::path file, std::string_view flag)
    : path_(std::move(file)), name_(std::string(flag) + " " + proto::OneLinePath(path_.string())) {
  holders_ = std::make_shared<const Holders>(Read());
}

std::string ApiKeys::CurrentMarks() const {
  const std::string file = path_.string();
  return FileMarks({&file, 1});
}

ApiKeys::Holders ApiKeys::Read() {
  {
    // Before the file is read, so that what is written meanwhile is a change.
    std::string marks = CurrentMarks();
    const std::lock_guard lock(mutex_);
    marks_ = std::move(marks);
  }
  const std::string text = proto::ReadRegularFile(path_, kMaxFileBytes);
  proto::Expected<KeyFile, std::string> file = ParseKeyFile(text);
  if (!file) {
    throw proto::StartupError(name_ + ": " + file.error());
  }
  struct stat status {};
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (file->has_plain_keys && stat(path_.c_str(), &status) == 0 &&
      (status.st_mode & kOthers) != 0) {
    proto::LogWarning("{}: others may read the keys in it; chmod 600, or sha256:", name_);
  }
  std::map<std::string, std::shared_ptr<RequestWindow>> windows;  // By name.
  Holders holders;
  if (const std::shared_ptr<const Holders> before = Current()) {
    holders.reading = before->reading + 1;
    for (const auto& [hash, holder] : before->by_hash) {
      windows[holder->key.name] = holder->window;
    }
  }
  for (ApiKey& key : file->keys) {
    auto holder = std::make_shared<KeyHolder>();
    holder->name = ClientName(key.name);
    holder->key = std::move(key);
    std::shared_ptr<RequestWindow>& window = windows[holder->key.name];
    if (window == nullptr) {
      window = std::make_shared<RequestWindow>();
    }
    holder->window = window;
    holder->reading = holders.reading;
    const std::uint64_t hash = holder->key.digest.Hash(secret_);
    holders.by_hash.emplace(hash, std::move(holder));
  }
  return holders;
}

std::shared_ptr<const ApiKeys::Holders> ApiKeys::Current() const {
  const std::lock_guard lock(mutex_);
  return holders_;
}

Holder ApiKeys::HolderOf(const KeyDigest& digest, const Holders& holders) const {
  const auto [first, last] = holders.by_hash.equal_range(digest.Hash(secret_));
  for (auto at = first; at != last; ++at) {
    if (at->second->key.digest == digest) {
      return at->second;
    }
  }
  return nullptr;
}

Holder ApiKeys::Renewed(const Holder& holder) const {
  const std::shared_ptr<const Holders> holders = Current();
  return holder->reading == holders->reading ? holder : HolderOf(holder->key.digest, *holders);
}

proto::Expected<Holder> ApiKeys::Find(const std::vector<std::string>& keys) const {
  const std::shared_ptr<const Holders> holders = Current();
  std::size_t shown = 0;
  for (const std::string& key : keys) {
    if (key.empty()) {
      continue;
    }
    if (++shown > kMaxShownKeys) {
      break;
    }
    if (key.size() > kMaxKeyBytes) {
      continue;
    }
    if (Holder holder = HolderOf(KeyDigest::Of(key), *holders)) {
      return holder;
    }
  }
  return proto::Unexpected(shown == 0 ? NoKey() : WrongKey());
}

std::optional<proto::Error> ApiKeys::KeyFault(const Holder& holder) const {
  if (holder == nullptr) {
    return NoKey();
  }
  return Renewed(holder) == nullptr ? std::optional(WrongKey()) : std::nullopt;
}

proto::Expected<Holder> ApiKeys::LetIn(const Holder& holder, std::string_view model,
                                       Clock::time_point now) const {
  if (holder == nullptr) {
    return proto::Unexpected(NoKey());
  }
  Holder current = Renewed(holder);
  if (current == nullptr) {
    return proto::Unexpected(WrongKey());
  }
  const KeyLimits& limits = current->key.limits;
  if (!limits.models.empty() && std::ranges::find(limits.models, model) == limits.models.end()) {
    return proto::Unexpected(proto::Error{403, "model_not_allowed",
                                          "The key of " + current->key.name +
                                              " is not for this server's model, " +
                                              proto::Quoted(model) + ".",
                                          "model"});
  }
  if (limits.requests_per_minute) {
    if (const auto again = current->window->Add(*limits.requests_per_minute, now)) {
      return proto::Unexpected(
          proto::Error{429, "rate_limit_exceeded",
                       "Too many requests with the key of " + current->key.name + ": more than " +
                           std::to_string(*limits.requests_per_minute) + " in a minute.",
                       "", *again});
    }
  }
  return current;
}

proto::Expected<KeyChanges, std::string> ApiKeys::Unchanged() const {
  const std::lock_guard lock(mutex_);
  if (!fault_.empty()) {
    return proto::Unexpected(fault_);
  }
  return KeyChanges{.keys = holders_->by_hash.size()};
}

proto::Expected<KeyChanges, std::string> ApiKeys::Reload() {
  const std::unique_lock reading(reading_, std::try_to_lock);
  if (!reading || !HasFileChanged()) {
    return Unchanged();
  }
  const std::shared_ptr<const Holders> before = Current();
  std::shared_ptr<const Holders> now;
  try {
    now = std::make_shared<const Holders>(Read());
  } catch (const std::exception& fault) {
    std::string text = std::string(fault.what()) + "; the keys stay as they were";
    proto::LogWarning("{}", text);
    const std::lock_guard lock(mutex_);
    fault_ = text;
    return proto::Unexpected(std::move(text));
  }
  {
    const std::lock_guard lock(mutex_);
    holders_ = now;
    fault_.clear();
  }
  const std::set<std::string> is = DigestsOf(now->by_hash);
  const std::set<std::string> was = DigestsOf(before->by_hash);
  const auto missing = [](const std::set<std::string>& from, const std::set<std::string>& in) {
    return static_cast<std::size_t>(
        std::ranges::count_if(from, [&in](const std::string& one) { return !in.contains(one); }));
  };
  const KeyChanges changes{is.size(), missing(is, was), missing(was, is)};
  proto::LogInfo("{}: read again: {}, {} new, {} revoked", name_,
                 proto::Count(static_cast<std::int64_t>(changes.keys), "key"), changes.added,
                 changes.revoked);
  return changes;
}

bool ApiKeys::HasFileChanged() const {
  const std::string marks = CurrentMarks();
  const std::lock_guard lock(mutex_);
  return marks != marks_;
}

}  // namespace scorecast::coordinator
