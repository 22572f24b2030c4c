#include "shard/kernels/cpu_features.h"

#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace scorecast::shard {
namespace {

constexpr std::pair<CpuFeature, std::string_view> kNames[] = {
    {CpuFeature::kAvx2, "AVX2"},
    {CpuFeature::kAvxVnni, "AVX-VNNI"},
    {CpuFeature::kAvx512, "AVX-512"},
    {CpuFeature::kAvx512Vnni, "AVX512-VNNI"},
    {CpuFeature::kAvx512Bf16, "AVX512-BF16"},
    {CpuFeature::kAmxInt8, "AMX-INT8"},
    {CpuFeature::kAmxBf16, "AMX-BF16"},
};

#if defined(__x86_64__)

/// Registers that CPUID gives for a leaf; zeros if the CPU does not have it.
struct CpuId {
  CpuId() = default;
  CpuId(unsigned leaf, unsigned subleaf) {
    __get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx);
  }

  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
};

bool HasBit(unsigned bits, int bit) { return ((bits >> bit) & 1U) != 0; }

/// Whether the operating system saves and restores the tiles of AMX. Linux does so from now on, in
/// all threads of a process that asks for it.
bool SystemKeepsTiles() {
  if (!HasBit(CpuId(1, 0).ecx, 27)) {  // OSXSAVE: there is an XGETBV.
    return false;
  }
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTiles = 3U << 17U;  // XTILECFG and XTILEDATA
  if ((low & kTiles) != kTiles) {
    return false;
  }
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return true;
#endif
}

#endif

}  // namespace

std::string Names(CpuFeatures features) {
  std::string names;
  for (const auto& [feature, name] : kNames) {
    if (features.Contain({feature})) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
  }
  return names;
}

CpuFeatures DetectCpuFeatures() {
  CpuFeatures features;
#if defined(__x86_64__)
  // GCC 12 does not know AVX-VNNI and AMX by name. For all others, it also asks whether the
  // operating system keeps their registers. AVX-VNNI has those of AVX2.
  const CpuId basic(7, 0);
  const CpuId extended = basic.eax >= 1 ? CpuId(7, 1) : CpuId();  // EAX: the last subleaf.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2")) {
    return features;
  }
  features = {CpuFeature::kAvx2};
  if (HasBit(extended.eax, 4)) {
    features = features | CpuFeatures{CpuFeature::kAvxVnni};
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    features = features | CpuFeatures{CpuFeature::kAvx512};
    if (__builtin_cpu_supports("avx512vnni")) {
      features = features | CpuFeatures{CpuFeature::kAvx512Vnni};
    }
    if (__builtin_cpu_supports("avx512bf16")) {
      features = features | CpuFeatures{CpuFeature::kAvx512Bf16};
    }
  }
  if (HasBit(basic.edx, 24) && SystemKeepsTiles()) {  // AMX-TILE
    if (HasBit(basic.edx, 25)) {
      features = features | CpuFeatures{CpuFeature::kAmxInt8};
    }
    if (HasBit(basic.edx, 22)) {
      features = features | CpuFeatures{CpuFeature::kAmxBf16};
    }
  }
#endif
  return features;
}

}  // namespace scorecast::shard
