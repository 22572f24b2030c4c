// The vectors of floats that the kernels' bodies use: Google Highway's, as wide as the instruction
// set that the source is compiled for allows. Arithmetic is Highway's too. A multiplication whose
// result is added is written as hn::MulAdd, which rounds once if the instruction set can. Only
// kernels_body.h includes this, hence no `#pragma once`.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <hwy/highway.h>

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<std::int32_t>;
using BitTag = hn::ScalableTag<std::uint32_t>;
using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;  ///< As many lanes, of 16 bits.
using ByteTag = hn::Rebind<std::uint8_t, FloatTag>;

using Floats = hn::Vec<FloatTag>;
using Ints = hn::Vec<IntTag>;
using Bits = hn::Vec<BitTag>;

static_assert(!HWY_HAVE_SCALABLE, "the number of lanes is known to the compiler");
constexpr int kLanes = HWY_LANES(float);
static_assert(kLanes >= 4 && 16 % kLanes == 0, "16 floats are whole vectors");

HWY_INLINE Floats Zero() { return hn::Zero(FloatTag()); }
HWY_INLINE Floats Broadcast(float x) { return hn::Set(FloatTag(), x); }
HWY_INLINE Floats Load(const float* p) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE void Store(Floats v, float* p) { hn::StoreU(v, FloatTag(), p); }

/// The first n < kLanes numbers; the other lanes are zero. Nothing behind the n numbers is read.
template <typename Tag>
HWY_INLINE hn::Vec<Tag> LoadFirst(Tag tag, const hn::TFromD<Tag>* p, std::int64_t n) {
#if HWY_ARCH_X86 && HWY_CAP_GE256
  return hn::MaskedLoad(hn::FirstN(tag, static_cast<std::size_t>(n)), tag, p);
#else
  hn::TFromD<Tag> lanes[kLanes] = {};
  std::memcpy(lanes, p, static_cast<std::size_t>(n) * sizeof(*p));
  return hn::LoadU(tag, lanes);
#endif
}

HWY_INLINE Floats LoadPart(const float* p, std::int64_t n) { return LoadFirst(FloatTag(), p, n); }

/// Stores the first n < kLanes lanes.
HWY_INLINE void StorePart(Floats v, std::int64_t n, float* p) {
#if HWY_ARCH_X86 && HWY_CAP_GE256
  hn::BlendedStore(v, hn::FirstN(FloatTag(), static_cast<std::size_t>(n)), FloatTag(), p);
#else
  float lanes[kLanes];
  Store(v, lanes);
  std::memcpy(p, lanes, static_cast<std::size_t>(n) * sizeof(*p));
#endif
}

/// 0, 1, 2, … (Highway's Iota is a weak symbol for AVX-512.)
HWY_INLINE Bits LaneNumbers() {
  static constexpr std::uint32_t kNumbers[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  return hn::LoadU(BitTag(), kNumbers);
}

/// The sum of the lanes, added in the order of a fixed tree.
HWY_INLINE float Sum(Floats v) { return hn::GetLane(hn::SumOfLanes(FloatTag(), v)); }

/// The larger number of each lane; the number of b if either is NaN.
HWY_INLINE Floats Larger(Floats a, Floats b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}

/// The smaller number of each lane; the number of b if either is NaN.
HWY_INLINE Floats Smaller(Floats a, Floats b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSSE3
  return hn::Min(a, b);
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

/// The largest lane. A NaN in any lane may or may not be dropped.
HWY_INLINE float Max(Floats v) { return hn::GetLane(hn::MaxOfLanes(FloatTag(), v)); }

/// 0 for finite lanes, NaN for the others. It is added to exp(v), because exp(-∞) would otherwise
/// be a valid 0.
HWY_INLINE Floats ZeroIfFinite(Floats v) { return hn::Mul(v, Zero()); }

/// v + ZeroIfFinite(of)
HWY_INLINE Floats NanUnlessFinite(Floats v, Floats of) { return hn::MulAdd(of, Zero(), v); }

/// Which lanes of a vector a step of a loop computes: all, or the first `lanes`.
struct Whole {};
struct Part {
  std::int64_t lanes;
};

HWY_INLINE Floats Load(const float* p, Whole) { return Load(p); }
HWY_INLINE Floats Load(const float* p, Part part) { return LoadPart(p, part.lanes); }
HWY_INLINE Ints LoadInts(const std::int32_t* p, Whole) { return hn::LoadU(IntTag(), p); }
HWY_INLINE Ints LoadInts(const std::int32_t* p, Part part) {
  return LoadFirst(IntTag(), p, part.lanes);
}
HWY_INLINE void Store(Floats v, Whole, float* p) { Store(v, p); }
HWY_INLINE void Store(Floats v, Part part, float* p) { StorePart(v, part.lanes, p); }

/// v in the lanes that the step computes, and `other` in the others.
HWY_INLINE Floats Select(Whole, Floats v, Floats /*other*/) { return v; }
HWY_INLINE Floats Select(Part part, Floats v, Floats other) {
  const auto first = hn::FirstN(FloatTag(), static_cast<std::size_t>(part.lanes));
  return hn::IfThenElse(first, v, other);
}

/// Calls step(i, Whole()) for each whole vector of n numbers, and step(i, Part()) for the rest.
template <typename Step>
HWY_INLINE void ForVectors(std::int64_t n, const Step& step) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    step(i, Whole());
  }
  if (i < n) {
    step(i, Part{n - i});
  }
}

/// Folds n numbers: step(folded, i, Whole() or Part()) takes the next ones, and `start` is the
/// first value. There are four chains of vectors, so that a step need not wait for the one before
/// it. combine(a, b) joins two chains. The order depends on n alone.
template <typename V, typename Step, typename Combine>
HWY_INLINE V Fold(std::int64_t n, V start, const Step& step, const Combine& combine) {
  V a = start;
  V b = start;
  V c = start;
  V d = start;
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = step(a, i, Whole());
    b = step(b, i + kLanes, Whole());
    c = step(c, i + 2 * kLanes, Whole());
    d = step(d, i + 3 * kLanes, Whole());
  }
  const std::int64_t vectors = (n - i) / kLanes;
  if (vectors > 0) {
    a = step(a, i, Whole());
  }
  if (vectors > 1) {
    b = step(b, i + kLanes, Whole());
  }
  if (vectors > 2) {
    c = step(c, i + 2 * kLanes, Whole());
  }
  i += vectors * kLanes;
  if (i < n) {
    d = step(d, i, Part{n - i});
  }
  return combine(combine(a, b), combine(c, d));
}

/// The sum of what step(sum, i, Whole() or Part()) adds for n numbers.
template <typename Step>
HWY_INLINE float SumOver(std::int64_t n, const Step& step) {
  return Sum(Fold(n, Zero(), step, [](Floats a, Floats b) { return hn::Add(a, b); }));
}

/// exp(x) = (1 + less_one) · power_of_two
struct ExpParts {
  Floats less_one;
  Floats power_of_two;
};

/// The parts of exp(x) for x from -87 to 88, after Cephes' expf: x = n·ln 2 + r, a polynomial in r,
/// and n added to the exponent. n is 0 for |x| < 0.34. NaN stays NaN.
HWY_INLINE ExpParts PartsOfExp(Floats x) {
  // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits; 127 more make it the bits
  // of a power of two.
  const Floats magic = Broadcast(12582912.0F + 127.0F);
  const Floats shifted = hn::MulAdd(x, Broadcast(1.44269504088896341F), magic);
  const Floats n = hn::Sub(shifted, magic);
  Floats r = hn::NegMulAdd(n, Broadcast(0.693359375F), x);
  r = hn::MulAdd(n, Broadcast(2.12194440e-4F), r);
  Floats p = hn::MulAdd(r, Broadcast(1.9875691500e-4F), Broadcast(1.3981999507e-3F));
  p = hn::MulAdd(p, r, Broadcast(8.3334519073e-3F));
  p = hn::MulAdd(p, r, Broadcast(4.1665795894e-2F));
  p = hn::MulAdd(p, r, Broadcast(1.6666665459e-1F));
  p = hn::MulAdd(p, r, Broadcast(5.0000001201e-1F));
  p = hn::MulAdd(p, hn::Mul(r, r), r);
  const Ints power = hn::ShiftLeft<23>(hn::BitCast(IntTag(), shifted));
  return {p, hn::BitCast(FloatTag(), power)};
}

// Both leave a NaN as it is.
HWY_INLINE Floats AtLeastMinus87(Floats x) { return Larger(Broadcast(-87.0F), x); }
HWY_INLINE Floats AtMost88(Floats x) { return Smaller(Broadcast(88.0F), x); }

/// Exp(x) for x that is not above 88.
HWY_INLINE Floats ExpUpTo88(Floats x) {
  const ExpParts parts = PartsOfExp(AtLeastMinus87(x));
  return hn::Mul(hn::Add(parts.less_one, Broadcast(1.0F)), parts.power_of_two);
}

/// exp(x) to about one unit in the last place. Exactly 1 at 0; NaN stays NaN; about 1e-38 for x
/// below -87 and about 1e38 above 88.
HWY_INLINE Floats Exp(Floats x) { return ExpUpTo88(AtMost88(x)); }

/// exp(x) + y: the bits of Exp(x) added to y, because a product by a power of two is exact.
HWY_INLINE Floats ExpPlus(Floats x, Floats y) {
  const ExpParts parts = PartsOfExp(AtLeastMinus87(AtMost88(x)));
  return hn::MulAdd(hn::Add(parts.less_one, Broadcast(1.0F)), parts.power_of_two, y);
}

/// tanh(x) = e / (e + 2) with e = exp(2 |x|) - 1, and the sign of x; to a few units in the last
/// place. Near 0, e is the polynomial alone, so nothing cancels. NaN stays NaN.
HWY_INLINE Floats Tanh(Floats x) {
  const Floats size = hn::Abs(x);
  const ExpParts parts = PartsOfExp(AtMost88(hn::Add(size, size)));
  const Floats rest = hn::Sub(parts.power_of_two, Broadcast(1.0F));
  const Floats e = hn::MulAdd(parts.less_one, parts.power_of_two, rest);
  return hn::CopySign(hn::Div(e, hn::Add(e, Broadcast(2.0F))), x);
}

/// cap · tanh(x); NaN if x is not finite, so that an infinity does not pass for ±cap.
HWY_INLINE Floats CapTimesTanh(float cap, Floats x) {
  return hn::MulAdd(Broadcast(cap), Tanh(x), ZeroIfFinite(x));
}

constexpr float kLargest = std::numeric_limits<float>::max();

/// Float32 of kLanes bfloat16.
HWY_INLINE Floats Widen(const std::uint16_t* x) {
  const Bits bits = hn::PromoteTo(BitTag(), hn::LoadU(HalfTag(), x));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits));
}

/// Rounds to bfloat16, ties to even. A lane gets the 16 bits, sign-extended.
HWY_INLINE Ints RoundToBf16(Floats x) {
  const Bits bits = hn::BitCast(BitTag(), x);
  const Bits odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(BitTag(), 1));
  const Bits rounded = hn::Add(hn::Add(bits, hn::Set(BitTag(), 0x7FFF)), odd);
  // Rounding could carry a NaN to infinity.
  const Bits quiet_nan = hn::Or(bits, hn::Set(BitTag(), 0x400000));
  const auto is_nan = hn::RebindMask(BitTag(), hn::IsNaN(x));
  return hn::ShiftRight<16>(hn::BitCast(IntTag(), hn::IfThenElse(is_nan, quiet_nan, rounded)));
}

HWY_INLINE void StoreRounded(Floats x, std::uint16_t* out) {
#ifdef __AVX512BF16__
  const __m256bh half = _mm512_cvtneps_pbh(x.raw);
  std::memcpy(out, &half, sizeof(half));
#else
  const hn::Rebind<std::int16_t, FloatTag> tag;
  hn::StoreU(hn::BitCast(HalfTag(), hn::DemoteTo(tag, RoundToBf16(x))), HalfTag(), out);
#endif
}

/// Stores a, then b.
HWY_INLINE void StoreRounded(Floats a, Floats b, std::uint16_t* out) {
#if HWY_CAP_GE256 && !HWY_CAP_GE512
  // Narrows both at once, which leaves halves of a and b alternating.
  const hn::ScalableTag<std::int16_t> narrow;
  const Ints mixed =
      hn::BitCast(IntTag(), hn::ReorderDemote2To(narrow, RoundToBf16(a), RoundToBf16(b)));
  static constexpr std::int32_t kOrder[] = {0, 1, 4, 5, 2, 3, 6, 7};
  const Ints ordered = hn::TableLookupLanes(mixed, hn::SetTableIndices(IntTag(), kOrder));
  const hn::ScalableTag<std::uint16_t> tag;
  hn::StoreU(hn::BitCast(tag, ordered), tag, out);
#else
  StoreRounded(a, out);
  StoreRounded(b, out + kLanes);
#endif
}

}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE
