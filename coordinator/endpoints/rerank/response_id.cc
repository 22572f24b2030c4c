#include "coordinator/endpoints/rerank/response_id.h"

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

}  // namespace scorecast::coordinator
