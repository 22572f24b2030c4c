#include "coordinator/transports/web/reply_coding.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include <zlib.h>
#include <zstd.h>

#include "proto/base/letter_case.h"
#include "proto/base/trimmed.h"

namespace scorecast::coordinator {
namespace {

std::string_view Stripped(std::string_view text) { return proto::Trimmed(text, " \t"); }

/// The thousandths of a weight, "0.5", if it is one.
std::optional<int> ThousandthsOf(std::string_view text) {
  constexpr std::size_t kLongest = 5;
  constexpr int kOne = 1000;
  const bool begins_well = !text.empty() && (text[0] == '0' || text[0] == '1');
  if (!begins_well || text.size() > kLongest || (text.size() > 1 && text[1] != '.')) {
    return std::nullopt;
  }
  int thousandths = text[0] == '1' ? kOne : 0;
  int place = kOne / 10;
  for (const char digit : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (digit < '0' || digit > '9') {
      return std::nullopt;
    }
    thousandths += place * (digit - '0');
    place /= 10;
  }
  return thousandths <= kOne ? std::optional(thousandths) : std::nullopt;
}

/// The weight of a member behind its name, ";q=0.5"; 1000 if it has none.
std::optional<int> WeightOf(std::string_view parameters) {
  if (parameters.empty()) {
    return 1000;
  }
  const std::string_view weight = Stripped(parameters.substr(1));
  return proto::EqualsWithoutCase(weight.substr(0, 2), "q=") ? ThousandthsOf(weight.substr(2))
                                                             : std::nullopt;
}

struct Weights {
  std::optional<int> gzip;
  std::optional<int> zstd;
  std::optional<int> identity;
  std::optional<int> others;
};

void AddMember(std::string_view member, Weights& weights) {
  const std::size_t end = std::min(member.find(';'), member.size());
  const std::string_view name = Stripped(member.substr(0, end));
  const std::optional<int> weight = WeightOf(member.substr(end));
  if (!weight) {
    return;
  }
  if (proto::EqualsWithoutCase(name, "gzip") || proto::EqualsWithoutCase(name, "x-gzip")) {
    weights.gzip = weight;
  } else if (proto::EqualsWithoutCase(name, "zstd")) {
    weights.zstd = weight;
  } else if (proto::EqualsWithoutCase(name, "identity")) {
    weights.identity = weight;
  } else if (name == "*") {
    weights.others = weight;
  }
}

std::string Gzipped(std::string_view body) {
  constexpr int kGzipWindow = 15 + 16;
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string compressed;
  try {
    compressed.resize(deflateBound(&stream, body.size()));
  } catch (...) {
    deflateEnd(&stream);
    throw;
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  deflate(&stream, Z_FINISH);  // There is room for all of it.
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

std::string Zstandard(std::string_view body) {
  std::string compressed(ZSTD_compressBound(body.size()), '\0');
  const std::size_t size =
      ZSTD_compress(compressed.data(), compressed.size(), body.data(), body.size(), /*level=*/1);
  if (ZSTD_isError(size) != 0U) {
    throw std::bad_alloc();
  }
  compressed.resize(size);
  return compressed;
}

}  // namespace

ReplyCoding ReplyCodingOf(std::string_view accept_encoding) {
  Weights weights;
  for (std::size_t begin = 0; begin < accept_encoding.size();) {
    const std::size_t end = std::min(accept_encoding.find(',', begin), accept_encoding.size());
    AddMember(accept_encoding.substr(begin, end - begin), weights);
    begin = end + 1;
  }
  const int others = weights.others.value_or(0);
  const int gzip = weights.gzip.value_or(others);
  const int zstd = weights.zstd.value_or(gzip == 0 ? others : 0);
  ReplyCoding result;
  result.is_needed = weights.identity.value_or(weights.others.value_or(1)) == 0;
  const int best = std::max(gzip, zstd);
  if (best > 0 && best >= weights.identity.value_or(0)) {
    result.coding = zstd == best ? ContentCoding::kZstd : ContentCoding::kZlib;
  }
  return result;
}

std::string_view NameOf(ContentCoding coding) {
  return coding == ContentCoding::kZstd ? "zstd" : "gzip";
}

std::string Compressed(std::string_view body, ContentCoding coding) {
  return coding == ContentCoding::kZstd ? Zstandard(body) : Gzipped(body);
}

}  // namespace scorecast::coordinator
