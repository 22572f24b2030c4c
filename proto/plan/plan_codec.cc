#include "proto/plan/plan_codec.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::proto {
namespace {

static_assert(std::endian::native == std::endian::little);

class Writer {
 public:
  template <typename T>
  void Value(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof(T));
  }

  template <typename T, typename WriteOne>
  void List(const std::vector<T>& list, WriteOne write_one) {
    Value(static_cast<std::uint32_t>(list.size()));
    for (const T& element : list) {
      write_one(element);
    }
  }

  void Tokens(const std::vector<TokenId>& tokens) {
    Value(static_cast<std::uint32_t>(tokens.size()));
    const auto bytes = std::as_bytes(std::span(tokens));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> Take() && { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T Value() {
    T value;
    std::memcpy(&value, Take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  template <typename T, typename ReadOne>
  std::vector<T> List(ReadOne read_one) {
    const auto size = Value<std::uint32_t>();
    Check(size <= rest_.size(), "a plan's list fits into its bytes");
    std::vector<T> list;
    list.reserve(size);
    for (std::uint32_t i = 0; i < size; ++i) {
      list.push_back(read_one());
    }
    return list;
  }

  std::vector<TokenId> Tokens() {
    const auto size = Value<std::uint32_t>();
    const auto bytes = Take(std::size_t{size} * sizeof(TokenId));
    std::vector<TokenId> tokens(size);
    if (size > 0) {
      std::memcpy(tokens.data(), bytes.data(), bytes.size());
    }
    return tokens;
  }

  bool AtEnd() const { return rest_.empty(); }

 private:
  std::span<const std::byte> Take(std::size_t size) {
    Check(size <= rest_.size(), "a plan's bytes are complete");
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<const std::byte> rest_;
};

void WriteSegment(Writer& writer, const PlanSegment& segment) {
  writer.Value(segment.kind);
  writer.Value(segment.continues);
  writer.Value(segment.first_position);
  writer.Value(segment.compute_begin);
  writer.Value(segment.stored);
  writer.Value(segment.compute_end);
  writer.Value(segment.kv.kept);
  writer.Value(segment.kv.first);
}

PlanSegment ReadSegment(Reader& reader) {
  PlanSegment segment;
  segment.kind = reader.Value<SegmentKind>();
  segment.continues = reader.Value<bool>();
  segment.first_position = reader.Value<std::int32_t>();
  segment.compute_begin = reader.Value<std::int32_t>();
  segment.stored = reader.Value<std::int32_t>();
  segment.compute_end = reader.Value<std::int32_t>();
  segment.kv.kept = reader.Value<bool>();
  segment.kv.first = reader.Value<std::int32_t>();
  return segment;
}

void WriteSequence(Writer& writer, const PlanSequence& sequence) {
  writer.List(sequence.segments, [&](const PlanSegment& s) { WriteSegment(writer, s); });
  writer.Value(sequence.block_weighting.temperature);
  writer.Value(sequence.block_weighting.scale);
}

PlanSequence ReadSequence(Reader& reader) {
  PlanSequence sequence;
  sequence.segments = reader.List<PlanSegment>([&] { return ReadSegment(reader); });
  sequence.block_weighting.temperature = reader.Value<float>();
  sequence.block_weighting.scale = reader.Value<float>();
  return sequence;
}

void WriteCopy(Writer& writer, const KvCopy& copy) {
  writer.Value(copy.from);
  writer.Value(copy.to);
  writer.Value(copy.rows);
}

KvCopy ReadCopy(Reader& reader) {
  KvCopy copy;
  copy.from = reader.Value<std::int32_t>();
  copy.to = reader.Value<std::int32_t>();
  copy.rows = reader.Value<std::int32_t>();
  return copy;
}

void WriteRead(Writer& writer, const PlanRead& read) {
  writer.Value(read.row);
  writer.Value(read.label_list);
  writer.Value(read.normalizer);
  writer.Value(read.top_k);
  writer.Value(read.temperature);
  writer.Value(read.draw.has_value());
  if (read.draw) {
    writer.Value(read.draw->seed);
    writer.Value(read.draw->step);
  }
}

PlanRead ReadRead(Reader& reader) {
  PlanRead read;
  read.row = reader.Value<std::int32_t>();
  read.label_list = reader.Value<std::int32_t>();
  read.normalizer = reader.Value<bool>();
  read.top_k = reader.Value<std::int32_t>();
  read.temperature = reader.Value<float>();
  if (reader.Value<bool>()) {
    Draw& draw = read.draw.emplace();
    draw.seed = reader.Value<std::uint64_t>();
    draw.step = reader.Value<std::uint32_t>();
  }
  return read;
}

}  // namespace

std::vector<std::byte> EncodePlan(const ForwardPlan& plan) {
  Writer writer;
  writer.Value(plan.bucket);
  writer.Value(plan.read_bucket);
  writer.Tokens(plan.tokens);
  writer.List(plan.sequences, [&](const PlanSequence& s) { WriteSequence(writer, s); });
  writer.List(plan.copies, [&](const KvCopy& copy) { WriteCopy(writer, copy); });
  writer.List(plan.reads, [&](const PlanRead& read) { WriteRead(writer, read); });
  writer.List(plan.label_lists, [&](const LabelList& labels) { writer.Tokens(labels.ids()); });
  return std::move(writer).Take();
}

ForwardPlan DecodePlan(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  ForwardPlan plan;
  plan.bucket = reader.Value<std::uint32_t>();
  plan.read_bucket = reader.Value<std::uint32_t>();
  plan.tokens = reader.Tokens();
  plan.sequences = reader.List<PlanSequence>([&] { return ReadSequence(reader); });
  plan.copies = reader.List<KvCopy>([&] { return ReadCopy(reader); });
  plan.reads = reader.List<PlanRead>([&] { return ReadRead(reader); });
  plan.label_lists = reader.List<LabelList>([&] { return LabelList(reader.Tokens()); });
  Check(reader.AtEnd(), "a plan ends where its bytes end");
  return plan;
}

}  // namespace scorecast::proto
