// The one body of the kernels, written with the 16-float vector types of GCC and clang, which the
// compiler maps to the instruction set at hand. Each kernels_*.cc includes it once and sets
// SCORECAST_KERNELS_NAMESPACE. No other file includes it, hence no `#pragma once`.

#include <cmath>

#include "proto/plan/philox.h"
#include "shard/kernels/kernels.h"
// The vectors come before the attention body, which needs them.
#include "shard/kernels/vectors_body.h"
// The kernels below need both.
#include "shard/kernels/attention_body.h"

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {

void RmsNorm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  Floats squares = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats v = Load(x + i);
    squares += v * v;
  }
  if (i < n) {
    const Floats v = LoadPart(x + i, n - i);
    squares += v * v;
  }
  const float scale = 1.0F / std::sqrt(Sum(squares) / static_cast<float>(n) + eps);
  for (i = 0; i + kLanes <= n; i += kLanes) {
    Store(Load(x + i) * scale * Load(weight + i), out + i);
  }
  if (i < n) {
    StorePart(LoadPart(x + i, n - i) * scale * LoadPart(weight + i, n - i), n - i, out + i);
  }
}

void Add(const float* x, std::int64_t n, float* sum) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(Load(sum + i) + Load(x + i), sum + i);
  }
  if (i < n) {
    StorePart(LoadPart(sum + i, n - i) + LoadPart(x + i, n - i), n - i, sum + i);
  }
}

inline Floats SiluTimes(Floats gate, Floats up) { return gate / (1.0F + Exp(-gate)) * up; }

void SwiGlu(const float* gate, const float* up, std::int64_t n, float* out) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(SiluTimes(Load(gate + i), Load(up + i)), out + i);
  }
  if (i < n) {
    StorePart(SiluTimes(LoadPart(gate + i, n - i), LoadPart(up + i, n - i)), n - i, out + i);
  }
}

/// gelu(gate) · up. In its tanh approximation, gelu(x) = x · (1 + tanh u) / 2 = x / (1 + exp(-2 u))
/// with u = √(2/π) · (x + 0.044715 x³).
inline Floats GeluTimes(Floats gate, Floats up) {
  const Floats two_u = gate * (1.5957691216F + 0.0713548163F * (gate * gate));
  return gate / (1.0F + Exp(-two_u)) * up;
}

void GeGlu(const float* gate, const float* up, std::int64_t n, float* out) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(GeluTimes(Load(gate + i), Load(up + i)), out + i);
  }
  if (i < n) {
    StorePart(GeluTimes(LoadPart(gate + i, n - i), LoadPart(up + i, n - i)), n - i, out + i);
  }
}

void SoftCap(float cap, std::int64_t n, float* x) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats v = Load(x + i);
    Store(CapTimesTanh(cap, v / cap), x + i);
  }
  if (i < n) {
    const Floats v = LoadPart(x + i, n - i);
    StorePart(CapTimesTanh(cap, v / cap), n - i, x + i);
  }
}

void Rope(const float* cosine, const float* sine, std::int64_t head_dim, float* head) {
  const std::int64_t half = head_dim / 2;
  float* low = head;
  float* high = head + half;
  std::int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    const Floats a = Load(low + i);
    const Floats b = Load(high + i);
    const Floats c = Load(cosine + i);
    const Floats s = Load(sine + i);
    Store(a * c - b * s, low + i);
    Store(b * c + a * s, high + i);
  }
  if (i < half) {
    const Floats a = LoadPart(low + i, half - i);
    const Floats b = LoadPart(high + i, half - i);
    const Floats c = LoadPart(cosine + i, half - i);
    const Floats s = LoadPart(sine + i, half - i);
    StorePart(a * c - b * s, half - i, low + i);
    StorePart(b * c + a * s, half - i, high + i);
  }
}

float Dot(const float* a, const float* b, std::int64_t n) {
  Floats sum = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    sum += Load(a + i) * Load(b + i);
  }
  if (i < n) {
    sum += LoadPart(a + i, n - i) * LoadPart(b + i, n - i);
  }
  return Sum(sum);
}

void MaxAndSumExp(const float* x, std::int64_t n, float* maximum, double* sum_exp) {
  Floats best = Broadcast(kNoScore);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats v = Load(x + i);
    best = v > best ? v : best;
  }
  float top = Max(best);
  for (; i < n; ++i) {
    top = x[i] > top ? x[i] : top;
  }
  // A float32 sum over a whole vocabulary would lose digits: runs of 1024 are summed in float32 and
  // added up in float64.
  constexpr std::int64_t kRun = 1024;
  double total = 0;
  for (i = 0; i < n; i += kRun) {
    const std::int64_t end = i + kRun < n ? i + kRun : n;
    Floats sum = {};
    std::int64_t j = i;
    for (; j + kLanes <= end; j += kLanes) {
      const Floats v = Load(x + j);
      sum += Exp(v - top) + ZeroIfFinite(v);
    }
    if (j < end) {
      const Floats v = LoadPart(x + j, end - j);
      Floats last = Exp(v - top) + ZeroIfFinite(v);
      for (std::int64_t lane = end - j; lane < kLanes; ++lane) {
        last[lane] = 0;
      }
      sum += last;
    }
    total += static_cast<double>(Sum(sum));
  }
  *maximum = top;
  *sum_exp = total;
}

using Longs = std::uint64_t __attribute__((vector_size(kLanes * sizeof(float))));

/// High and low words of 16 products.
inline void Multiply(Bits x, std::uint32_t factor, Bits* high, Bits* low) {
  const Longs even = (std::bit_cast<Longs>(x) & 0xFFFFFFFF) * factor;
  const Longs odd = (std::bit_cast<Longs>(x) >> 32) * factor;
  *high = std::bit_cast<Bits>((even >> 32) | (odd & 0xFFFFFFFF00000000));
  *low = std::bit_cast<Bits>((even & 0xFFFFFFFF) | (odd << 32));
}

/// Bit i is set if logits[i] plus its noise may reach `least`. For that, the noise must be at least
/// t = least - logit, which means -ln u <= exp(-t), and so 1 - u <= exp(-t). The test uses a lower
/// bound of 1 - u, (2^32 - 1 - high) / 2^32, where `high` is the first 32 bits of u. The factors
/// exceed the roundings of float32 and the error of Exp.
inline std::uint32_t Candidates(const float* logits, Bits high, float least) {
  const Floats most = Exp(Load(logits) - least) * 1.0005F;
  const Floats left = __builtin_convertvector(~high, Floats) * (0x1p-32F * 0.9995F);
  const Ints can_win = left <= most;
  std::uint32_t mask = 0;
  for (int i = 0; i < kVectorLanes; ++i) {
    mask |= (static_cast<std::uint32_t>(can_win[i]) & 1U) << static_cast<unsigned>(i);
  }
  return mask;
}

std::uint32_t DrawCandidates(const float* logits, std::uint64_t seed, std::uint32_t step,
                             std::uint32_t first_id, float least) {
  const Bits lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  // Philox4x32, 16 blocks side by side.
  Bits words[4] = {lane + first_id / 2, Bits{} + step, Bits{}, Bits{}};
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (int round = 0; round < proto::kPhiloxRounds; ++round) {
    Bits high[2];
    Bits low[2];
    for (int i = 0; i < 2; ++i) {
      Multiply(words[2 * i], proto::kPhiloxFactors[static_cast<std::size_t>(i)], &high[i], &low[i]);
    }
    words[0] = high[1] ^ words[1] ^ key[0];
    words[1] = low[1];
    words[2] = high[0] ^ words[3] ^ key[1];
    words[3] = low[0];
    for (std::size_t i = 0; i < 2; ++i) {
      key[i] += proto::kPhiloxKeySteps[i];
    }
  }
  return Candidates(logits, words[0], least) | Candidates(logits + kLanes, words[2], least) << 16;
}

void ToBf16(const float* x, std::int64_t n, std::uint16_t* out) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    StoreRounded(Load(x + i), out + i);
  }
  if (i < n) {
    std::uint16_t last[kLanes];
    StoreRounded(LoadPart(x + i, n - i), last);
    std::memcpy(out + i, last, static_cast<std::size_t>(n - i) * sizeof(last[0]));
  }
}

void AddBf16(const std::uint16_t* x, std::int64_t n, float* sum) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(Load(sum + i) + Widen(x + i), sum + i);
  }
  if (i < n) {
    std::uint16_t last[kLanes] = {};
    std::memcpy(last, x + i, static_cast<std::size_t>(n - i) * sizeof(last[0]));
    StorePart(LoadPart(sum + i, n - i) + Widen(last), n - i, sum + i);
  }
}

/// One stage: sums and differences of elements `width` apart, over blocks of 2 · width.
inline void Butterfly(float* x, std::int64_t n, std::int64_t width) {
  for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
    float* low = x + begin;
    float* high = low + width;
    std::int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      const Floats a = Load(low + i);
      const Floats b = Load(high + i);
      Store(a + b, low + i);
      Store(a - b, high + i);
    }
    for (; i < width; ++i) {
      const float a = low[i];
      const float b = high[i];
      low[i] = a + b;
      high[i] = a - b;
    }
  }
}

/// The stages of `width` and 2 · width in one go, which saves loads and stores; width ≥ 16.
inline void TwoButterflies(float* x, std::int64_t n, std::int64_t width) {
  for (std::int64_t begin = 0; begin < n; begin += 4 * width) {
    for (std::int64_t i = begin; i < begin + width; i += kLanes) {
      const Floats a = Load(x + i);
      const Floats b = Load(x + i + width);
      const Floats c = Load(x + i + 2 * width);
      const Floats d = Load(x + i + 3 * width);
      Store((a + b) + (c + d), x + i);
      Store((a - b) + (c - d), x + i + width);
      Store((a + b) - (c + d), x + i + 2 * width);
      Store((a - b) - (c - d), x + i + 3 * width);
    }
  }
}

/// The stages of widths 1, 2, 4 and 8 within a vector.
inline Floats ButterflyLanes(Floats v) {
  const Floats s1 = {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1};
  const Floats s2 = {1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1};
  const Floats s4 = {1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1};
  const Floats s8 = {1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1};
  const Ints p1 = {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};
  const Ints p2 = {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13};
  const Ints p4 = {4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11};
  const Ints p8 = {8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7};
  v = v * s1 + Shuffle(v, p1);
  v = v * s2 + Shuffle(v, p2);
  v = v * s4 + Shuffle(v, p4);
  return v * s8 + Shuffle(v, p8);
}

void Rotate(float* x, std::int64_t n) {
  constexpr std::int64_t kLargestBlock = 1024;
  const std::int64_t power = n & -n;
  const std::int64_t block = power < kLargestBlock ? power : kLargestBlock;
  const float norm = 1.0F / std::sqrt(static_cast<float>(block));
  std::int64_t width = 1;
  if (block >= kLanes) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Store(ButterflyLanes(Load(x + i) * norm), x + i);
    }
    width = kLanes;
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] *= norm;
    }
  }
  // Block by block, so that the data stay in the L1 cache.
  for (std::int64_t begin = 0; begin < n; begin += block) {
    std::int64_t w = width;
    for (; w >= kLanes && 2 * w < block; w *= 4) {
      TwoButterflies(x + begin, block, w);
    }
    for (; w < block; w *= 2) {
      Butterfly(x + begin, block, w);
    }
  }
}

inline void StoreQuantized(Floats scaled, std::uint8_t* out) {
  // Adding 1.5 · 2²³ rounds to an integer, ties to even, and leaves it in the low bits.
  const Ints rounded = std::bit_cast<Ints>(scaled + Broadcast(12582912.0F + 128.0F));
  const ByteInts bytes = __builtin_convertvector(rounded & 0xFF, ByteInts);
  std::memcpy(out, &bytes, sizeof(bytes));
}

float Quantize(const float* x, std::int64_t n, std::uint8_t* out) {
  Floats largest = {};
  Floats nothing = {};
  std::int64_t i = 0;
  const auto look = [&](Floats v) {
    const Floats size = v < 0 ? -v : v;
    largest = size > largest ? size : largest;
    nothing += ZeroIfFinite(v);
  };
  for (; i + kLanes <= n; i += kLanes) {
    look(Load(x + i));
  }
  if (i < n) {
    look(LoadPart(x + i, n - i));
  }
  const float most = Max(largest);
  // If all are 0, or so small that the quotient overflows, all become 0.
  const float quotient = 127.0F / most;
  const float to_int = quotient <= kLargest ? quotient : 0.0F;
  for (i = 0; i + kLanes <= n; i += kLanes) {
    StoreQuantized(Load(x + i) * to_int, out + i);
  }
  if (i < n) {
    std::uint8_t last[kLanes];
    StoreQuantized(LoadPart(x + i, n - i) * to_int, last);
    std::memcpy(out + i, last, static_cast<std::size_t>(n - i));
  }
  return most / 127.0F + Sum(nothing);
}

void Dequantize(const std::int32_t* sums, const std::int32_t* offsets, const float* scales,
                float row_scale, std::int64_t n, float* out) {
  const auto one = [&](std::int64_t at, std::int64_t lanes) {
    Ints sum = {};
    Ints offset = {};
    std::memcpy(&sum, sums + at, static_cast<std::size_t>(lanes) * sizeof(float));
    std::memcpy(&offset, offsets + at, static_cast<std::size_t>(lanes) * sizeof(float));
    const Floats product = __builtin_convertvector(sum - offset, Floats);
    StorePart(product * (LoadPart(scales + at, lanes) * row_scale), lanes, out + at);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    one(i, kLanes);
  }
  if (i < n) {
    one(i, n - i);
  }
}

}  // namespace

constexpr Kernels MakeKernels() {
  return {&RmsNorm,
          &Add,
          &SwiGlu,
          &GeGlu,
          &SoftCap,
          &Rope,
          &Dot,
          &MaxAndSumExp,
          &DrawCandidates,
          &ToBf16,
          &AddBf16,
          &Rotate,
          &Quantize,
          &Dequantize,
          MakeAttention<Float32>(),
          MakeAttention<Bfloat16>()};
}

}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE
