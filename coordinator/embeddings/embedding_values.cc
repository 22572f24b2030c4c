#include "coordinator/embeddings/embedding_values.h"

#include <array>
#include <bit>
#include <cmath>
#include <string_view>

namespace scorecast::coordinator {
namespace {

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

}  // namespace

void Normalize(std::span<float> values) {
  // Of values that were rounded to float32, each by up to 6e-8 of itself.
  constexpr double kRounding = 1e-7;
  const double length = std::sqrt(Dot(values, values));
  if (length == 0 || std::abs(length - 1) < kRounding) {
    return;
  }
  for (float& value : values) {
    value = static_cast<float>(static_cast<double>(value) / length);
  }
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  const double lengths = std::sqrt(Dot(a, a)) * std::sqrt(Dot(b, b));
  return lengths == 0 ? 0 : Dot(a, b) / lengths;
}

std::string Base64Of(std::span<const float> values) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((values.size() * sizeof(float) + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int pending = 0;  // Bytes in `bits`.
  const auto write = [&](int digits) {
    for (int i = 0; i < 4; ++i) {
      text += i < digits ? kDigits[(bits >> (18 - 6 * i)) & 63U] : '=';
    }
    bits = 0;
    pending = 0;
  };
  for (const float value : values) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    for (unsigned byte = 0; byte < sizeof(float); ++byte) {
      bits |= ((word >> (8 * byte)) & 255U) << (16 - 8 * pending);
      if (++pending == 3) {
        write(4);
      }
    }
  }
  if (pending > 0) {
    write(pending + 1);
  }
  return text;
}

std::vector<std::int32_t> PackedBits(std::span<const float> values, bool is_signed) {
  std::vector<std::int32_t> bytes(values.size() / 8, is_signed ? -128 : 0);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] += values[i] > 0 ? 128 >> (i % 8) : 0;
  }
  return bytes;
}

}  // namespace scorecast::coordinator
