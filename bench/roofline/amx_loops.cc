#include <cstdint>

#include <immintrin.h>

#include "bench/roofline/x86_loops.h"
#include "shard/kernels/amx_tile_config.h"

namespace scorecast::bench {
namespace {

/// The calling thread's tiles. The constructor sets them to zero.
class Tiles {
 public:
  Tiles() {
    static constexpr shard::AmxTileConfig kConfig;
    _tile_loadconfig(&kConfig);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

}  // namespace

void AmxTileBf16(std::int64_t iterations) {
  const Tiles tiles;
  for (std::int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

void AmxTileInt8(std::int64_t iterations) {
  const Tiles tiles;
  for (std::int64_t i = 0; i < iterations; ++i) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
}

}  // namespace scorecast::bench
