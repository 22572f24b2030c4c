#include "coordinator/embeddings/embedding_values.h"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace scorecast::coordinator {
namespace {

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  const double lengths = std::sqrt(Dot(a, a)) * std::sqrt(Dot(b, b));
  return lengths == 0 ? 0 : Dot(a, b) / lengths;
}

/// The sum of `of_difference` over the values.
template <typename OfDifference>
double SumOf(std::span<const float> a, std::span<const float> b,
             const OfDifference& of_difference) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += of_difference(static_cast<double>(a[i]) - static_cast<double>(b[i]));
  }
  return sum;
}

/// Base64 that is written a byte at a time.
class Base64Text {
 public:
  explicit Base64Text(std::size_t bytes) { text_.reserve((bytes + 2) / 3 * 4); }

  /// Adds the low byte of `byte`.
  void Add(std::uint32_t byte) {
    bits_ |= (byte & 255U) << (16 - 8 * pending_);
    if (++pending_ == 3) {
      Write(4);
    }
  }

  std::string Take() && {
    if (pending_ > 0) {
      Write(pending_ + 1);
    }
    return std::move(text_);
  }

 private:
  void Write(int digits) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 4; ++i) {
      text_ += i < digits ? kDigits[(bits_ >> (18 - 6 * i)) & 63U] : '=';
    }
    bits_ = 0;
    pending_ = 0;
  }

  std::string text_;
  std::uint32_t bits_ = 0;
  int pending_ = 0;  ///< Bytes in `bits_`.
};

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

std::string_view NameOf(Similarity similarity) {
  switch (similarity) {
    case Similarity::kCosine:
      break;
    case Similarity::kDot:
      return "dot";
    case Similarity::kEuclidean:
      return "euclidean";
    case Similarity::kManhattan:
      return "manhattan";
  }
  return "cosine";
}

double SimilarityOf(Similarity similarity, std::span<const float> a, std::span<const float> b) {
  switch (similarity) {
    case Similarity::kCosine:
      break;
    case Similarity::kDot:
      return Dot(a, b);
    case Similarity::kEuclidean:
      return -std::sqrt(SumOf(a, b, [](double difference) { return difference * difference; }));
    case Similarity::kManhattan:
      return -SumOf(a, b, [](double difference) { return std::abs(difference); });
  }
  return Cosine(a, b);
}

std::string Base64Of(std::span<const float> values) {
  Base64Text text(values.size() * sizeof(float));
  for (const float value : values) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    for (unsigned byte = 0; byte < sizeof(float); ++byte) {
      text.Add(word >> (8 * byte));
    }
  }
  return std::move(text).Take();
}

std::string Base64Of(std::span<const std::int32_t> bytes) {
  Base64Text text(bytes.size());
  for (const std::int32_t byte : bytes) {
    text.Add(static_cast<std::uint32_t>(byte));
  }
  return std::move(text).Take();
}

std::vector<std::int32_t> PackedBits(std::span<const float> values, bool is_signed) {
  std::vector<std::int32_t> bytes(values.size() / 8, is_signed ? -128 : 0);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] += values[i] > 0 ? 128 >> (i % 8) : 0;
  }
  return bytes;
}

}  // namespace scorecast::coordinator
