// Vectors of 16 floats for the attention's body: vector types of GCC and clang, which the compiler
// maps to the instruction set at hand. Only kernels_body.h includes this, hence no `#pragma once`.

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__AVX512BF16__) || defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {
namespace wide {

constexpr std::int64_t kLanes = 16;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));
using Bits = std::uint32_t __attribute__((vector_size(kLanes * sizeof(float))));
using HalfInts = std::uint16_t __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));

inline Floats Load(const float* p) {
  Floats v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

inline void Store(Floats v, float* p) { std::memcpy(p, &v, sizeof(v)); }

/// The first n < 16 floats; the other lanes are zero.
inline Floats LoadPart(const float* p, std::int64_t n) {
  Floats v = {};
  std::memcpy(&v, p, static_cast<std::size_t>(n) * sizeof(float));
  return v;
}

inline void StorePart(Floats v, std::int64_t n, float* p) {
  std::memcpy(p, &v, static_cast<std::size_t>(n) * sizeof(float));
}

inline Floats Broadcast(float x) { return x - Floats{}; }

/// Adds the lanes as a fixed tree, so that the compiler cannot change the order and thereby the
/// bits.
inline float Sum(Floats v) {
  float part[kLanes];
  std::memcpy(part, &v, sizeof(v));
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) {
      part[i] += part[i + width];
    }
  }
  return part[0];
}

/// Lane i of the result is lane order[i] of v.
inline Floats Shuffle(Floats v, Ints order) {
#ifdef __clang__
  Floats shuffled;
  for (std::int64_t i = 0; i < kLanes; ++i) {
    shuffled[i] = v[order[i]];
  }
  return shuffled;
#else
  return __builtin_shuffle(v, order);
#endif
}

/// The largest lane. A NaN in any lane may or may not be dropped.
inline float Max(Floats v) {
  const auto larger = [](Floats a, Floats b) { return a > b ? a : b; };
  v = larger(v, Shuffle(v, Ints{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7}));
  v = larger(v, Shuffle(v, Ints{4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11}));
  v = larger(v, Shuffle(v, Ints{2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13}));
  v = larger(v, Shuffle(v, Ints{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14}));
  return v[0];
}

/// 0 for finite lanes, NaN for the others. Added to exp(v), it keeps exp(-∞) from passing for 0.
inline Floats ZeroIfFinite(Floats v) { return v * 0.0F; }

/// exp(x) to about one unit in the last place, after Cephes' expf: x = n·ln 2 + r, a polynomial in
/// r, and n added to the exponent. Exactly 1 at 0; NaN stays NaN; about 1e-38 for x below -87 and
/// about 1e38 above 88.
inline Floats Exp(Floats x) {
  const Floats low = Broadcast(-87.0F);
  const Floats high = Broadcast(88.0F);
  x = x < low ? low : x;
  x = x > high ? high : x;
  // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
  const Floats magic = Broadcast(12582912.0F);
  const Floats shifted = x * 1.44269504088896341F + magic;
  const Floats n = shifted - magic;
  const Floats r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Floats p = Broadcast(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Ints exponent = (std::bit_cast<Ints>(shifted) + 127) << 23;
  return p * std::bit_cast<Floats>(exponent);
}

/// tanh(x) to a few units in the last place, after Cephes' tanhf: an odd polynomial near 0, and
/// 1 - 2 / (exp(2 x) + 1) elsewhere. NaN stays NaN.
inline Floats Tanh(Floats x) {
  const Floats size = x < 0 ? -x : x;
  const Floats far = 1.0F - 2.0F / (Exp(size + size) + 1.0F);
  const Floats z = x * x;
  Floats p = Broadcast(-5.70498872745e-3F);
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const Floats near = p * z * x + x;
  return size < 0.625F ? near : (x < 0 ? -far : far);
}

/// cap · tanh(x); NaN if x is not finite, so that an infinity does not pass for ±cap.
inline Floats CapTimesTanh(float cap, Floats x) { return cap * Tanh(x) + ZeroIfFinite(x); }

/// Rounds to bfloat16, ties to even. The result is in the low half of each lane.
inline Ints Round(Floats x) {
  const Bits bits = std::bit_cast<Bits>(x);
  const Bits rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  const Bits quiet_nan = (bits >> 16) | 0x40;  // Rounding could carry a NaN to infinity.
  return x == x ? std::bit_cast<Ints>(rounded) : std::bit_cast<Ints>(quiet_nan);
}

inline void StoreRounded(Floats x, std::uint16_t* out) {
#ifdef __AVX512BF16__
  const __m256bh half = _mm512_cvtneps_pbh(std::bit_cast<__m512>(x));
#else
  const HalfInts half = __builtin_convertvector(Round(x), HalfInts);
#endif
  std::memcpy(out, &half, sizeof(half));
}

}  // namespace wide
}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE
