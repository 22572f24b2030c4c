// The one body of the kernels, written with the vectors of vectors_body.h. These are as wide as the
// instruction set of the including source. CMakeLists.txt writes a source kernels_*.cc for each
// kernel set. It defines SCORECAST_KERNELS_NAMESPACE, SCORECAST_KERNELS (the set's constant) and,
// unless the set runs on any CPU, SCORECAST_KERNELS_TARGET (Highway's target), and includes this
// header. No other file includes it, hence no `#pragma once`. The bodies call no templates and no
// inline functions of other headers, except those that are always inlined (HWY_INLINE): see
// tests/weak_symbols.sh.

#include <cmath>

#include "proto/plan/gumbel.h"
#include "proto/plan/mass_bins.h"
#include "shard/kernels/kernels.h"
// The vectors come before the bodies that need them.
#include "shard/kernels/vectors_body.h"
// The kernels below need all of these.
#include "shard/kernels/attention_body.h"
#include "shard/kernels/int8_product_body.h"
// Behind int8_product_body.h, whose parts it uses.
#include "shard/kernels/int8_block_body.h"
#include "shard/kernels/product_body.h"

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {

void RmsNorm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  const float squares = SumOver(n, [&](Floats sum, std::int64_t i, auto lanes) {
    const Floats v = Load(x + i, lanes);
    return hn::MulAdd(v, v, sum);
  });
  const Floats scale = Broadcast(1.0F / std::sqrt(squares / static_cast<float>(n) + eps));
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    const Floats scaled = hn::Mul(Load(x + i, lanes), scale);
    Store(hn::Mul(scaled, Load(weight + i, lanes)), lanes, out + i);
  });
}

void LayerNorm(const float* x, const float* weight, const float* bias, std::int64_t n, float eps,
               float* out) {
  const float sum = SumOver(n, [&](Floats partial, std::int64_t i, auto lanes) {
    return hn::Add(partial, Load(x + i, lanes));
  });
  const Floats mean = Broadcast(sum / static_cast<float>(n));
  const float squares = SumOver(n, [&](Floats partial, std::int64_t i, auto lanes) {
    // Lanes behind the last number are 0 after the subtraction, too.
    const Floats v = Select(lanes, hn::Sub(Load(x + i, lanes), mean), Zero());
    return hn::MulAdd(v, v, partial);
  });
  const Floats scale = Broadcast(1.0F / std::sqrt(squares / static_cast<float>(n) + eps));
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    const Floats scaled = hn::Mul(hn::Sub(Load(x + i, lanes), mean), scale);
    const Floats v = hn::Mul(scaled, Load(weight + i, lanes));
    Store(bias == nullptr ? v : hn::Add(v, Load(bias + i, lanes)), lanes, out + i);
  });
}

void Add(const float* x, std::int64_t n, float* sum) {
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    Store(hn::Add(Load(sum + i, lanes), Load(x + i, lanes)), lanes, sum + i);
  });
}

/// x / (1 + exp(minus_u))
HWY_INLINE Floats Sigmoid(Floats x, Floats minus_u) {
  return hn::Div(x, ExpPlus(minus_u, Broadcast(1.0F)));
}

HWY_INLINE Floats Silu(Floats x) { return Sigmoid(x, hn::Neg(x)); }

/// In its tanh approximation, gelu(x) = x · (1 + tanh u) / 2 = x / (1 + exp(-2 u)) with
/// u = √(2/π) · (x + 0.044715 x³).
HWY_INLINE Floats GeluTanh(Floats x) {
  const Floats slope =
      hn::MulAdd(hn::Mul(x, x), Broadcast(-0.0713548163F), Broadcast(-1.5957691216F));
  return Sigmoid(x, hn::Mul(x, slope));
}

/// gelu(x) = max(x, 0) - |x| · Φ(-|x|), which cancels nowhere. Φ(-|x|) = exp(-x² / 2) · t · p(t)
/// with t = 1 / (1 + 0.3 |x| / √2); the polynomial is within 2.4e-8 of that, relative to it, for
/// |x| up to 13, where Φ is below 1e-38.
HWY_INLINE Floats Gelu(Floats x) {
  constexpr float kCoefficients[] = {0.24510257F,  -0.261267981F, 0.280163691F,  -0.052027574F,
                                     0.109638118F, 0.0735615705F, 0.0854513575F, 0.084587906F};
  const Floats size = hn::Abs(x);
  const Floats t =
      hn::Div(Broadcast(1.0F), hn::MulAdd(size, Broadcast(0.212132034F), Broadcast(1.0F)));
  Floats p = Broadcast(-0.065209667F);
  for (const float coefficient : kCoefficients) {
    p = hn::MulAdd(p, t, Broadcast(coefficient));
  }
  const Floats density = ExpUpTo88(hn::Mul(hn::Mul(x, x), Broadcast(-0.5F)));
  const Floats tail = hn::Mul(hn::Mul(p, t), density);
  return hn::NegMulAdd(size, tail, Larger(Zero(), x));
}

HWY_INLINE Floats Relu(Floats x) { return NanUnlessFinite(Larger(Zero(), x), x); }

template <Floats (*activation)(Floats)>
void ActivateGated(const float* gate, const float* up, std::int64_t n, float* out) {
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    const Floats activated = activation(Load(gate + i, lanes));
    Store(hn::Mul(activated, Load(up + i, lanes)), lanes, out + i);
  });
}

template <Floats (*activation)(Floats)>
void Activate(const float* x, std::int64_t n, float* out) {
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    Store(activation(Load(x + i, lanes)), lanes, out + i);
  });
}

template <Floats (*activation)(Floats)>
constexpr ActivationKernels MakeActivation() {
  return {&ActivateGated<activation>, &Activate<activation>};
}

void SoftCap(float cap, std::int64_t n, float* x) {
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    Store(CapTimesTanh(cap, hn::Div(Load(x + i, lanes), Broadcast(cap))), lanes, x + i);
  });
}

void Rope(const float* cosine, const float* sine, std::int64_t head_dim, float* head) {
  const std::int64_t half = head_dim / 2;
  float* low = head;
  float* high = head + half;
  ForVectors(half, [&](std::int64_t i, auto lanes) {
    const Floats a = Load(low + i, lanes);
    const Floats b = Load(high + i, lanes);
    const Floats c = Load(cosine + i, lanes);
    const Floats s = Load(sine + i, lanes);
    Store(hn::NegMulAdd(b, s, hn::Mul(a, c)), lanes, low + i);
    Store(hn::MulAdd(a, s, hn::Mul(b, c)), lanes, high + i);
  });
}

float Dot(const float* a, const float* b, std::int64_t n) {
  return SumOver(n, [&](Floats sum, std::int64_t i, auto lanes) {
    return hn::MulAdd(Load(a + i, lanes), Load(b + i, lanes), sum);
  });
}

void MaxAndSumExp(const float* x, std::int64_t n, float* maximum, double* sum_exp) {
  const std::int64_t whole = n - n % kLanes;
  float top = Max(Fold(
      whole, Broadcast(kNoScore),
      [&](Floats best, std::int64_t i, auto lanes) { return Larger(Load(x + i, lanes), best); },
      Larger));
  for (std::int64_t i = whole; i < n; ++i) {
    top = x[i] > top ? x[i] : top;
  }
  // A float32 sum over a whole vocabulary would lose digits: runs of 1024 are summed in float32 and
  // added up in float64.
  constexpr std::int64_t kRun = 1024;
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    const std::int64_t count = begin + kRun < n ? kRun : n - begin;
    total += static_cast<double>(SumOver(count, [&](Floats sum, std::int64_t i, auto lanes) {
      const Floats v = Load(x + begin + i, lanes);
      const Floats more = ExpPlus(hn::Sub(v, Broadcast(top)), sum);
      return NanUnlessFinite(Select(lanes, more, sum), v);
    }));
  }
  *maximum = top;
  *sum_exp = total;
}

/// High and low words of the products.
HWY_INLINE void Multiply(Bits x, std::uint32_t factor, Bits* high, Bits* low) {
  const hn::ScalableTag<std::uint64_t> longs;
  const Bits factors = hn::Set(BitTag(), factor);
  const Bits odd_lanes = hn::BitCast(BitTag(), hn::ShiftRight<32>(hn::BitCast(longs, x)));
  const auto even = hn::MulEven(x, factors);
  const auto odd = hn::MulEven(odd_lanes, factors);
  *high = hn::OddEven(hn::BitCast(BitTag(), odd), hn::BitCast(BitTag(), hn::ShiftRight<32>(even)));
  *low = hn::OddEven(hn::BitCast(BitTag(), hn::ShiftLeft<32>(odd)), hn::BitCast(BitTag(), even));
}

/// Bit i is set if logits[i] plus its noise may reach `least`. For that, the noise must be at least
/// t = least - logit, which means -ln u <= exp(-t), and so 1 - u <= exp(-t). The test uses a lower
/// bound of 1 - u, (2^32 - 1 - high) / 2^32, where `high` is the first 32 bits of u, less its last
/// bit. The constant factors below are larger than the rounding errors of float32 and the error of
/// Exp.
HWY_INLINE std::uint32_t Candidates(const float* logits, Bits high, float least) {
  const Floats most = hn::Mul(Exp(hn::Sub(Load(logits), Broadcast(least))), Broadcast(1.0005F));
  const Ints left = hn::BitCast(IntTag(), hn::ShiftRight<1>(hn::Not(high)));
  const Floats bound = hn::Mul(hn::ConvertTo(FloatTag(), left), Broadcast(0x1p-31F * 0.9995F));
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(FloatTag(), hn::Le(bound, most), bits);
  return static_cast<std::uint32_t>(bits[0]) | static_cast<std::uint32_t>(bits[1]) << 8U;
}

std::uint32_t DrawCandidates(const float* logits, std::uint64_t seed, std::uint32_t step,
                             std::uint32_t first_id, float least) {
  constexpr unsigned kBlocks = 16;  // Block i has the words of ids i and 16 + i; see GumbelUniform.
  constexpr std::uint32_t kFactors[] = {proto::kPhiloxFactors[0], proto::kPhiloxFactors[1]};
  constexpr std::uint32_t kKeySteps[] = {proto::kPhiloxKeySteps[0], proto::kPhiloxKeySteps[1]};
  std::uint32_t mask = 0;
  for (unsigned block = 0; block < kBlocks; block += kLanes) {
    // Philox4x32, as many blocks side by side as there are lanes.
    Bits words[4] = {hn::Add(LaneNumbers(), hn::Set(BitTag(), first_id / 2 + block)),
                     hn::Set(BitTag(), step), hn::Zero(BitTag()), hn::Zero(BitTag())};
    std::uint32_t key[2] = {static_cast<std::uint32_t>(seed),
                            static_cast<std::uint32_t>(seed >> 32U)};
    for (int round = 0; round < proto::kPhiloxRounds; ++round) {
      Bits high[2];
      Bits low[2];
      Multiply(words[0], kFactors[0], &high[0], &low[0]);
      Multiply(words[2], kFactors[1], &high[1], &low[1]);
      words[0] = hn::Xor(hn::Xor(high[1], words[1]), hn::Set(BitTag(), key[0]));
      words[1] = low[1];
      words[2] = hn::Xor(hn::Xor(high[0], words[3]), hn::Set(BitTag(), key[1]));
      words[3] = low[0];
      key[0] += kKeySteps[0];
      key[1] += kKeySteps[1];
    }
    mask |= Candidates(logits + block, words[0], least) << block;
    mask |= Candidates(logits + kBlocks + block, words[2], least) << (kBlocks + block);
  }
  return mask;
}

/// exp(x) - 1 for x from 0 to 1/16, with a relative error of exp below 1e-8: Taylor's series.
HWY_INLINE Floats ExpLessOneOfFew(Floats x) {
  Floats p = hn::MulAdd(x, Broadcast(1.0F / 24), Broadcast(1.0F / 6));
  p = hn::MulAdd(p, x, Broadcast(0.5F));
  return hn::MulAdd(hn::Mul(p, x), x, x);
}

/// Integers from 2^23 to 2^24 in place of the same floats, which have no fractions. (Conversions
/// would take longer, because they check the range.)
HWY_INLINE Bits IntegersOf(Floats v) {
  constexpr std::uint32_t kBitsOf2To23 = 0x4B000000;
  return hn::Sub(hn::BitCast(BitTag(), v), hn::Set(BitTag(), kBitsOf2To23 - (1U << 23U)));
}

std::int64_t MassBins(const float* logits, std::int64_t n, float bins_of_logit,
                      std::int32_t highest, std::uint32_t* masses) {
  static_assert(proto::MassBins::kMostWidth <= 0x1p-4F && proto::MassBins::kUnitBits == 23,
                "the mass of a token is from 2^23 to 2^24 units");
  // The vectors are stored before their lanes are added, which is faster than taking lanes out of
  // vectors.
  constexpr std::int64_t kChunk = 256;
  std::uint32_t places[kChunk];
  std::uint32_t amounts[kChunk];
  const Floats most = Broadcast(static_cast<float>(proto::MassBins::kMostBin));
  const Floats width = Broadcast(1.0F / bins_of_logit);
  const Floats units = Broadcast(0x1p23F);
  const Floats count = Broadcast(static_cast<float>(proto::MassBins::kCount));
  const Floats top = Broadcast(static_cast<float>(highest));
  Floats lowest = Zero();
  const auto find = [&](Floats logit, std::int64_t at) {
    const Floats bin =
        Larger(hn::Neg(most), Smaller(most, hn::Floor(hn::Mul(logit, Broadcast(bins_of_logit)))));
    // The bin is one of the outermost if this is not between 0 and the width.
    const Floats above = Larger(Zero(), Smaller(width, hn::NegMulAdd(bin, width, logit)));
    // Distances below 2^24 are exact, and no longer one is rounded to a shorter one.
    const Floats below = Smaller(count, hn::Sub(top, bin));
    lowest = Larger(lowest, below);
    const Bits place = hn::Sub(IntegersOf(hn::Add(below, units)), hn::Set(BitTag(), 1U << 23U));
    hn::StoreU(place, BitTag(), places + at);
    hn::StoreU(IntegersOf(hn::MulAdd(ExpLessOneOfFew(above), units, units)), BitTag(),
               amounts + at);
  };
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const float* of_chunk = logits + begin;
    const std::int64_t size = begin + kChunk < n ? kChunk : n - begin;
    std::int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      find(Load(of_chunk + i), i);
    }
    if (i < size) {
      // The other lanes repeat a logit, so that they reach no lower bin.
      float last[kLanes];
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        last[lane] = of_chunk[i + lane < size ? i + lane : i];
      }
      find(Load(last), i);
    }
    for (i = 0; i < size; ++i) {
      masses[places[i]] += amounts[i];
    }
  }
  const auto bins = static_cast<std::int64_t>(Max(lowest)) + 1;
  return bins < static_cast<std::int64_t>(proto::MassBins::kCount)
             ? bins
             : static_cast<std::int64_t>(proto::MassBins::kCount);
}

void ToBf16(const float* x, std::int64_t n, std::uint16_t* out) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    StoreRounded(Load(x + i), Load(x + i + kLanes), out + i);
  }
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
    Store(hn::Add(Load(sum + i), Widen(x + i)), sum + i);
  }
  if (i < n) {
    std::uint16_t last[kLanes] = {};
    std::memcpy(last, x + i, static_cast<std::size_t>(n - i) * sizeof(last[0]));
    StorePart(hn::Add(LoadPart(sum + i, n - i), Widen(last)), n - i, sum + i);
  }
}

/// One stage: sums and differences of elements `width` apart, over blocks of 2 · width.
HWY_INLINE void Butterfly(float* x, std::int64_t n, std::int64_t width) {
  for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
    float* low = x + begin;
    float* high = low + width;
    ForVectors(width, [&](std::int64_t i, auto lanes) {
      const Floats a = Load(low + i, lanes);
      const Floats b = Load(high + i, lanes);
      Store(hn::Add(a, b), lanes, low + i);
      Store(hn::Sub(a, b), lanes, high + i);
    });
  }
}

/// The stages of `width` and 2 · width in one go, which saves loads and stores; width ≥ kLanes.
HWY_INLINE void TwoButterflies(float* x, std::int64_t n, std::int64_t width) {
  for (std::int64_t begin = 0; begin < n; begin += 4 * width) {
    for (std::int64_t i = begin; i < begin + width; i += kLanes) {
      const Floats a = Load(x + i);
      const Floats b = Load(x + i + width);
      const Floats c = Load(x + i + 2 * width);
      const Floats d = Load(x + i + 3 * width);
      const Floats sums[2] = {hn::Add(a, b), hn::Add(c, d)};
      const Floats differences[2] = {hn::Sub(a, b), hn::Sub(c, d)};
      Store(hn::Add(sums[0], sums[1]), x + i);
      Store(hn::Add(differences[0], differences[1]), x + i + width);
      Store(hn::Sub(sums[0], sums[1]), x + i + 2 * width);
      Store(hn::Sub(differences[0], differences[1]), x + i + 3 * width);
    }
  }
}

/// 1 for the lanes whose number lacks the bit `width`, and -1 for the others.
HWY_INLINE Floats Signs(std::uint32_t width) {
  const auto has_bit = hn::TestBit(LaneNumbers(), hn::Set(BitTag(), width));
  return hn::IfThenElse(hn::RebindMask(FloatTag(), has_bit), Broadcast(-1.0F), Broadcast(1.0F));
}

/// All stages with widths below kLanes, within one vector.
HWY_INLINE Floats ButterflyLanes(Floats v) {
  v = hn::MulAdd(v, Signs(1), hn::Shuffle2301(v));
  v = hn::MulAdd(v, Signs(2), hn::Shuffle1032(v));
  if constexpr (kLanes >= 8) {
    v = hn::MulAdd(v, Signs(4), hn::SwapAdjacentBlocks(v));
  }
  if constexpr (kLanes >= 16) {
    v = hn::MulAdd(v, Signs(8), hn::ConcatLowerUpper(FloatTag(), v, v));
  }
  return v;
}

/// All stages with widths below kLanes · vectors, and a factor, in one go.
template <int vectors>
HWY_INLINE void FirstButterflies(float* x, Floats factor) {
  Floats v[vectors];
#pragma GCC unroll 16
  for (int i = 0; i < vectors; ++i) {
    v[i] = ButterflyLanes(hn::Mul(Load(x + i * kLanes), factor));
  }
#pragma GCC unroll 4
  for (int width = 1; width < vectors; width *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < vectors; ++i) {
      if ((i & width) == 0) {
        const Floats a = v[i];
        const Floats b = v[i + width];
        v[i] = hn::Add(a, b);
        v[i + width] = hn::Sub(a, b);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < vectors; ++i) {
    Store(v[i], x + i * kLanes);
  }
}

void Rotate(float* x, std::int64_t n) {
  constexpr std::int64_t kLargestBlock = 1024;
  constexpr int kVectors = kLanes < 8 ? 1 : 64 / kLanes;  // As many as fit into the registers.
  const std::int64_t power = n & -n;
  const std::int64_t block = power < kLargestBlock ? power : kLargestBlock;
  const Floats norm = Broadcast(1.0F / std::sqrt(static_cast<float>(block)));
  // Block by block, so that the data stay in the L1 cache.
  for (std::int64_t begin = 0; begin < n; begin += block) {
    float* part = x + begin;
    std::int64_t width = 1;
    if (block >= kVectors * kLanes) {
      for (std::int64_t i = 0; i < block; i += kVectors * kLanes) {
        FirstButterflies<kVectors>(part + i, norm);
      }
      width = kVectors * kLanes;
    } else if (block >= kLanes) {
      for (std::int64_t i = 0; i < block; i += kLanes) {
        FirstButterflies<1>(part + i, norm);
      }
      width = kLanes;
    } else {
      StorePart(hn::Mul(LoadPart(part, block), norm), block, part);
    }
    for (; width >= kLanes && 2 * width < block; width *= 4) {
      TwoButterflies(part, block, width);
    }
    for (; width < block; width *= 2) {
      Butterfly(part, block, width);
    }
  }
}

HWY_INLINE void StoreQuantized(Floats x, Floats to_int, std::uint8_t* out) {
  // Adding 1.5 · 2²³ rounds to an integer, ties to even, and leaves it in the low bits.
  const Floats shifted = hn::MulAdd(x, to_int, Broadcast(12582912.0F + 128.0F));
  const Bits byte = hn::And(hn::BitCast(BitTag(), shifted), hn::Set(BitTag(), 0xFF));
  hn::StoreU(hn::U8FromU32(byte), ByteTag(), out);
}

float Quantize(const float* x, std::int64_t n, std::uint8_t* out) {
  // Absolute values compare as integers in the same order as floats; ∞ and NaN compare above all
  // numbers.
  const Ints largest = Fold(
      n, hn::Zero(IntTag()),
      [&](Ints best, std::int64_t i, auto lanes) {
        return hn::Max(best, hn::BitCast(IntTag(), hn::Abs(Load(x + i, lanes))));
      },
      [](Ints a, Ints b) { return hn::Max(a, b); });
  const float most = hn::GetLane(hn::BitCast(FloatTag(), hn::MaxOfLanes(IntTag(), largest)));
  // If all are 0, or so small that the quotient overflows, all become 0.
  const float quotient = 127.0F / most;
  const Floats to_int = Broadcast(quotient <= kLargest ? quotient : 0.0F);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    StoreQuantized(Load(x + i), to_int, out + i);
  }
  if (i < n) {
    std::uint8_t last[kLanes];
    StoreQuantized(LoadPart(x + i, n - i), to_int, last);
    std::memcpy(out + i, last, static_cast<std::size_t>(n - i));
  }
  return most / 127.0F + most * 0.0F;  // NaN if `most` is not finite.
}

void Dequantize(const std::int32_t* sums, const std::int32_t* offsets, const float* scales,
                float row_scale, std::int64_t n, float* out) {
  ForVectors(n, [&](std::int64_t i, auto lanes) {
    const Ints difference = hn::Sub(LoadInts(sums + i, lanes), LoadInts(offsets + i, lanes));
    const Floats scale = hn::Mul(Load(scales + i, lanes), Broadcast(row_scale));
    Store(hn::Mul(hn::ConvertTo(FloatTag(), difference), scale), lanes, out + i);
  });
}

constexpr Kernels MakeKernels() {
  return {&RmsNorm,
          &LayerNorm,
          &Add,
          MakeActivation<Silu>(),
          MakeActivation<Gelu>(),
          MakeActivation<GeluTanh>(),
          MakeActivation<Relu>(),
          &SoftCap,
          &Rope,
          &Dot,
          &MaxAndSumExp,
          &DrawCandidates,
          &MassBins,
          &ToBf16,
          &AddBf16,
          &Rotate,
          &Quantize,
          &Dequantize,
          MakeAttention<Float32>(),
          MakeAttention<Bfloat16>(),
          MakeProducts(),
          MakeInt8Products()};
}

}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

#ifdef SCORECAST_KERNELS_TARGET
static_assert(HWY_TARGET == SCORECAST_KERNELS_TARGET,
              "the options of this source have the features that Highway asks for");
#endif

namespace scorecast::shard {

extern const Kernels SCORECAST_KERNELS;
const Kernels SCORECAST_KERNELS = SCORECAST_KERNELS_NAMESPACE::MakeKernels();

}  // namespace scorecast::shard
