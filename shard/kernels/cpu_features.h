#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace scorecast::shard {

/// Instructions that CPUs have or lack together, beyond those of every x86-64 CPU.
enum class CpuFeature : std::uint8_t {
  kAvx2,        ///< AVX2, FMA, F16C, BMI and BMI2.
  kAvxVnni,     ///< Products of bytes in vectors of AVX2.
  kAvx512,      ///< AVX512F, BW, DQ and VL.
  kAvx512Vnni,  ///< Products of bytes in vectors of AVX-512.
  kAvx512Bf16,  ///< Products of bfloat16 in vectors of AVX-512.
  kAmxInt8,     ///< Products of tiles of bytes.
  kAmxBf16,     ///< Products of tiles of bfloat16.
};

/// A set of features. No feature implies another: a CPU may have AVX-VNNI without AVX-512, or the
/// reverse.
class CpuFeatures {
 public:
  constexpr CpuFeatures() = default;
  constexpr CpuFeatures(std::initializer_list<CpuFeature> features) {
    for (const CpuFeature feature : features) {
      bits_ |= Bit(feature);
    }
  }
  static constexpr CpuFeatures FromBits(int bits) {
    CpuFeatures features;
    features.bits_ = bits;
    return features;
  }

  /// For messages between ranks.
  constexpr int bits() const { return bits_; }

  constexpr bool Contain(CpuFeatures needed) const { return (needed.bits_ & ~bits_) == 0; }
  /// The features that are in both sets.
  constexpr CpuFeatures operator&(CpuFeatures other) const { return FromBits(bits_ & other.bits_); }
  constexpr CpuFeatures operator|(CpuFeatures other) const { return FromBits(bits_ | other.bits_); }
  /// The features that only this set has.
  constexpr CpuFeatures operator-(CpuFeatures other) const {
    return FromBits(bits_ & ~other.bits_);
  }
  constexpr bool operator==(const CpuFeatures&) const = default;

 private:
  static constexpr int Bit(CpuFeature feature) { return 1 << static_cast<int>(feature); }

  int bits_ = 0;
};

/// E.g. "AVX2, AVX-512"; empty if there are none.
std::string Names(CpuFeatures features);

/// The features of this CPU that the operating system lets programs use.
CpuFeatures DetectCpuFeatures();

}  // namespace scorecast::shard
