#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// The SHA-256 of a key.
class KeyDigest {
 public:
  static constexpr std::size_t kBytes = 32;
  using Secret = std::array<unsigned char, kBytes>;

  static KeyDigest Of(std::string_view key);
  /// Nothing if the text is not 64 hexadecimal digits.
  static std::optional<KeyDigest> FromHex(std::string_view hex);

  std::string ToHex() const;
  /// Takes the same time whatever bytes differ.
  bool operator==(const KeyDigest& other) const;

  /// For an index. The time of a look-up tells nothing of the digests in it, because `secret` is
  /// not known.
  std::uint64_t Hash(const Secret& secret) const;

 private:
  std::array<unsigned char, kBytes> bytes_{};
};

/// What the holder of a key may do. Absent values are no limits.
struct KeyLimits {
  std::optional<std::int64_t> requests_per_minute;  ///< In any 60 seconds.
  /// Tokens of the holder's requests that wait for their first pass: see Job::max_client_tokens.
  std::optional<std::int64_t> waiting_tokens;
  /// The best (lowest) priority that counts. If absent, ServerOptions::trust_priority decides.
  std::optional<std::int32_t> priority;
  std::vector<std::string> models;  ///< The only ones that the holder may use; empty: all.
  /// Whether the holder shares cached K/V with all others of whom this is said, too.
  bool shares_cache = false;

  bool operator==(const KeyLimits&) const = default;
};

/// A key, without the key itself.
struct ApiKey {
  std::string name;  ///< Of the holder. Begins with a letter, so it is never an address.
  KeyDigest digest;
  KeyLimits limits;

  bool operator==(const ApiKey&) const = default;
};

/// The fewest bytes of a key. Shorter ones can be guessed.
inline constexpr std::size_t kMinKeyBytes = 16;
/// The most. A longer text is no key.
inline constexpr std::size_t kMaxKeyBytes = 512;

/// A word of a file of keys for a message: in quotes, or only its length if it could be a key,
/// which may stand where something else belongs.
std::string QuotedUnlessKey(std::string_view word);

/// Why a text cannot be the name of a key; empty if it can. Never repeats a key.
std::string KeyNameFault(std::string_view name);

/// Random bytes. Throws StartupError if the system has none.
KeyDigest::Secret NewSecret();

/// A fresh key: 256 random bits as text. Throws StartupError if the system has no random bytes.
std::string NewKey();

/// The line of a file of keys for a key without limits.
std::string KeyLine(std::string_view name, const KeyDigest& digest);

}  // namespace scorecast::coordinator
