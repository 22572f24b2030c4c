#include "coordinator/access/api_key.h"

#include <algorithm>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kMaxNameBytes = 64;
/// kOtherClients of the metrics.
constexpr std::string_view kNoName = "other";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsNameCharacter(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '@';
}

std::optional<unsigned> HexValue(char c) {
  const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::size_t value = kHexDigits.find(lower);
  return value == std::string_view::npos ? std::nullopt
                                         : std::optional(static_cast<unsigned>(value));
}

}  // namespace

KeyDigest KeyDigest::Of(std::string_view key) {
  static_assert(kBytes == SHA256_DIGEST_LENGTH);
  KeyDigest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.bytes_.data());
  return digest;
}

std::optional<KeyDigest> KeyDigest::FromHex(std::string_view hex) {
  if (hex.size() != 2 * kBytes) {
    return std::nullopt;
  }
  KeyDigest digest;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const auto high = HexValue(hex[2 * i]);
    const auto low = HexValue(hex[2 * i + 1]);
    if (!high || !low) {
      return std::nullopt;
    }
    digest.bytes_[i] = static_cast<unsigned char>(16 * *high + *low);
  }
  return digest;
}

std::string KeyDigest::ToHex() const {
  std::string hex;
  for (const unsigned char byte : bytes_) {
    hex += kHexDigits[byte / 16];
    hex += kHexDigits[byte % 16];
  }
  return hex;
}

bool KeyDigest::operator==(const KeyDigest& other) const {
  return CRYPTO_memcmp(bytes_.data(), other.bytes_.data(), kBytes) == 0;
}

std::uint64_t KeyDigest::Hash(const Secret& secret) const {
  std::array<unsigned char, 2 * kBytes> both{};
  std::ranges::copy(secret, both.begin());
  std::ranges::copy(bytes_, both.begin() + kBytes);
  Secret hashed{};
  SHA256(both.data(), both.size(), hashed.data());
  std::uint64_t hash = 0;
  std::memcpy(&hash, hashed.data(), sizeof(hash));
  return hash;
}

std::string QuotedUnlessKey(std::string_view word) {
  return word.size() < kMinKeyBytes ? proto::Quoted(word)
                                    : "a word of " + std::to_string(word.size()) + " bytes";
}

std::string KeyNameFault(std::string_view name) {
  if (name == kNoName) {
    return proto::Quoted(name) + " is no name of a key: metrics count several clients under it";
  }
  if (!name.empty() && name.size() <= kMaxNameBytes && IsLetter(name.front()) &&
      std::ranges::all_of(name, IsNameCharacter)) {
    return "";
  }
  return QuotedUnlessKey(name) + " is no name of a key: a letter, then up to " +
         std::to_string(kMaxNameBytes - 1) + " letters, digits, or any of - _ . @";
}

KeyDigest::Secret NewSecret() {
  KeyDigest::Secret bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw proto::StartupError("the system has no random bytes for a key");
  }
  return bytes;
}

std::string NewKey() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string key = "sk-";
  unsigned bits = 0;
  unsigned pending = 0;
  for (const unsigned char byte : NewSecret()) {
    pending = (pending << 8) | byte;
    for (bits += 8; bits >= 6; bits -= 6) {
      key += kDigits[(pending >> (bits - 6)) & 63];
    }
    pending &= 63;
  }
  return key + kDigits[(pending << (6 - bits)) & 63];
}

std::string KeyLine(std::string_view name, const KeyDigest& digest) {
  return std::string(name) + "  sha256:" + digest.ToHex();
}

}  // namespace scorecast::coordinator
