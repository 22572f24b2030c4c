#include "coordinator/access/key_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "coordinator/schedule/job.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kDigestPrefix = "sha256:";
/// Bounds the memory, and the time of reading.
constexpr std::size_t kMaxKeys = 10'000;
constexpr std::int64_t kMaxRequestsPerMinute = 1'000'000;
constexpr std::int64_t kMaxWaitingTokens = std::int64_t{1} << 40;
constexpr std::array<std::string_view, 5> kFields = {
    "requests_per_minute:", "waiting_tokens:", "priority:", "models:", "salt:"};

/// What is wrong with a line; nothing if it is right.
using Fault = std::optional<std::string>;

/// The words of a line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  /// Empty at the end of the line.
  std::string_view Next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlank), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kBlank));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

template <typename Number>
Fault ReadNumber(std::string_view field, std::string_view text, std::int64_t least,
                 std::int64_t most, std::optional<Number>& to) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end || value < least || value > most) {
    return std::string(field) + " is a number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", not " + QuotedUnlessKey(text);
  }
  to = static_cast<Number>(value);
  return std::nullopt;
}

Fault ReadModels(std::string_view text, std::vector<std::string>& models) {
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    if (!name.empty()) {
      models.emplace_back(name);
    }
    text.remove_prefix(std::min(name.size() + 1, text.size()));
  }
  return models.empty() ? Fault("models: names no model") : std::nullopt;
}

Fault ReadLimit(std::string_view field, std::string_view value, KeyLimits& limits) {
  if (std::ranges::find(kFields, field) == kFields.end()) {
    std::string all;
    for (const std::string_view known : kFields) {
      all += (all.empty() ? "" : " ") + std::string(known);
    }
    // A word without a colon is perhaps a second key.
    return (field.ends_with(':') ? QuotedUnlessKey(field) : "a word without a colon") +
           " is no limit of a key: there are " + all;
  }
  if (value.empty()) {
    return std::string(field) + " has no value";
  }
  if (field == "requests_per_minute:") {
    return ReadNumber(field, value, 1, kMaxRequestsPerMinute, limits.requests_per_minute);
  }
  if (field == "waiting_tokens:") {
    return ReadNumber(field, value, 1, kMaxWaitingTokens, limits.waiting_tokens);
  }
  if (field == "priority:") {
    return ReadNumber(field, value, kMinPriority, kMaxPriority, limits.priority);
  }
  if (field == "models:") {
    return ReadModels(value, limits.models);
  }
  limits.shares_cache = value == "shared";
  return limits.shares_cache ? std::nullopt
                             : Fault("salt: may only be shared, not " + QuotedUnlessKey(value));
}

/// Reads the key of a line, which messages never repeat.
Fault ReadKey(std::string_view text, KeyDigest& digest, bool& is_plain) {
  is_plain = !text.starts_with(kDigestPrefix);
  if (!is_plain) {
    const auto read = KeyDigest::FromHex(text.substr(kDigestPrefix.size()));
    digest = read.value_or(KeyDigest());
    return read ? std::nullopt : Fault("sha256: is followed by 64 hexadecimal digits");
  }
  if (std::ranges::any_of(text, [](char c) { return c <= ' ' || c > '~'; })) {
    return "the key has a character that is not visible ASCII";
  }
  if (text.size() < kMinKeyBytes || text.size() > kMaxKeyBytes) {
    return "the key has " + std::to_string(text.size()) + " characters, not " +
           std::to_string(kMinKeyBytes) + " to " + std::to_string(kMaxKeyBytes) +
           " (scorecast key new makes one)";
  }
  digest = KeyDigest::Of(text);
  return std::nullopt;
}

Fault ReadLine(std::string_view line, ApiKey& key, bool& is_plain) {
  Words words(line);
  const std::string_view name = words.Next();
  if (std::string fault = KeyNameFault(name); !fault.empty()) {
    return fault;
  }
  key.name = name;
  const std::string_view text = words.Next();
  if (text.empty()) {
    return "a name stands alone, without a key";  // Or a key without a name.
  }
  if (Fault fault = ReadKey(text, key.digest, is_plain)) {
    return fault;
  }
  std::vector<std::string_view> seen;
  for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    const std::size_t colon = std::min(word.find(':'), word.size() - 1);
    const std::string_view field = word.substr(0, colon + 1);
    const std::string_view beside = word.substr(colon + 1);
    if (std::ranges::find(seen, field) != seen.end()) {
      return std::string(field) + " is given twice";
    }
    seen.push_back(field);
    // A word without a colon is no field, so its value is not looked for.
    const bool has_value_behind = beside.empty() && field.ends_with(':');
    if (Fault fault = ReadLimit(field, has_value_behind ? words.Next() : beside, key.limits)) {
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace

proto::Expected<KeyFile, std::string> ParseKeyFile(std::string_view text) {
  KeyFile file;
  std::map<std::string, std::size_t> lines;      ///< By name.
  std::map<std::string, std::size_t> key_lines;  ///< By digest.
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string_view::npos || line[begin] == '#') {
      continue;
    }
    const auto fault = [number](const std::string& what) {
      return proto::Unexpected("line " + std::to_string(number) + ": " + what);
    };
    ApiKey key;
    bool is_plain = false;
    if (Fault found = ReadLine(line, key, is_plain)) {
      return fault(*found);
    }
    if (const auto [at, is_new] = lines.emplace(key.name, number); !is_new) {
      return fault("the name, " + QuotedUnlessKey(key.name) + ", is that of line " +
                   std::to_string(at->second));
    }
    if (const auto [at, is_new] = key_lines.emplace(key.digest.ToHex(), number); !is_new) {
      return fault("the key is that of line " + std::to_string(at->second));
    }
    if (file.keys.size() == kMaxKeys) {
      return fault("there are more than " + std::to_string(kMaxKeys) + " keys");
    }
    file.has_plain_keys |= is_plain;
    file.keys.push_back(std::move(key));
  }
  if (file.keys.empty()) {
    return proto::Unexpected(std::string("there is no key in it"));
  }
  return file;
}

}  // namespace scorecast::coordinator
