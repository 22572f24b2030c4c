#include "coordinator/endpoints/response_id.h"

#include <chrono>
#include <cstdint>

#include "coordinator/generate/seed.h"

namespace scorecast::coordinator {
namespace {

/// Appends the lowest 16 digits of `bits`.
void AppendHex(std::string& id, std::uint64_t bits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int digit = 0; digit < 16; ++digit, bits >>= 4) {
    id += kDigits[bits & 15];
  }
}

}  // namespace

std::string ResponseId(std::string_view prefix, const std::optional<ResponseIdentity>& identity) {
  std::string id(prefix);
  for (const std::uint64_t half : {0, 1}) {
    AppendHex(id, identity ? HashedSeed(identity->id_seed, half) : RandomBits());
  }
  return id;
}

std::int64_t CreatedTime(const std::optional<ResponseIdentity>& identity) {
  return identity ? identity->created
                  : std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
}

}  // namespace scorecast::coordinator
