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

  template <typename T>
  void Numbers(const std::vector<T>& numbers) {
    static_assert(std::is_arithmetic_v<T>);
    Value(static_cast<std::uint32_t>(numbers.size()));
    const auto bytes = std::as_bytes(std::span(numbers));
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

  template <typename T>
  std::vector<T> Numbers() {
    const auto size = Value<std::uint32_t>();
    const auto bytes = Take(std::size_t{size} * sizeof(T));
    std::vector<T> numbers(size);
    if (size > 0) {
      std::memcpy(numbers.data(), bytes.data(), bytes.size());
    }
    return numbers;
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
  writer.Value(segment.later);
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
  segment.later = reader.Value<std::int32_t>();
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

void WritePlace(Writer& writer, const TokenPlace& place) {
  writer.Value(place.logit);
  writer.Value(place.id);
}

TokenPlace ReadPlace(Reader& reader) {
  TokenPlace place;
  place.logit = reader.Value<float>();
  place.id = reader.Value<TokenId>();
  return place;
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
    writer.Value(read.draw->count);
    WritePlace(writer, read.draw->end);
  }
  writer.Value(read.bin_width);
  writer.Value(read.masses.max);
  writer.List(read.masses.places, [&](const TokenPlace& place) { WritePlace(writer, place); });
  writer.Value(read.target);
  writer.Value(read.excludes_labels);
  writer.Value(read.ranks_target);
  writer.Value(read.first_row);
  if (read.is_pooled()) {
    writer.Value(read.raw);
    writer.Value(read.keeps_length);
    writer.Value(read.goes_on);
    writer.Value(read.rows_before);
    writer.Numbers(read.pooled);
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
    draw.count = reader.Value<std::int32_t>();
    draw.end = ReadPlace(reader);
  }
  read.bin_width = reader.Value<float>();
  read.masses.max = reader.Value<float>();
  read.masses.places = reader.List<TokenPlace>([&] { return ReadPlace(reader); });
  read.target = reader.Value<TokenId>();
  read.excludes_labels = reader.Value<bool>();
  read.ranks_target = reader.Value<bool>();
  read.first_row = reader.Value<std::int32_t>();
  if (read.is_pooled()) {
    read.raw = reader.Value<bool>();
    read.keeps_length = reader.Value<bool>();
    read.goes_on = reader.Value<bool>();
    read.rows_before = reader.Value<std::int32_t>();
    read.pooled = reader.Numbers<float>();
  }
  return read;
}

}  // namespace

std::vector<std::byte> EncodePlan(const ForwardPlan& plan) {
  Writer writer;
  writer.Value(plan.bucket);
  writer.Value(plan.read_bucket);
  writer.Numbers(plan.tokens);
  writer.Numbers(plan.token_types);
  writer.List(plan.sequences, [&](const PlanSequence& s) { WriteSequence(writer, s); });
  writer.List(plan.copies, [&](const KvCopy& copy) { WriteCopy(writer, copy); });
  writer.List(plan.reads, [&](const PlanRead& read) { WriteRead(writer, read); });
  writer.List(plan.label_lists, [&](const LabelList& labels) { writer.Numbers(labels.ids()); });
  writer.Value(plan.step.has_value());
  if (plan.step) {
    writer.Value(plan.step->begin);
    writer.Value(plan.step->end);
  }
  return std::move(writer).Take();
}

ForwardPlan DecodePlan(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  ForwardPlan plan;
  plan.bucket = reader.Value<std::uint32_t>();
  plan.read_bucket = reader.Value<std::uint32_t>();
  plan.tokens = reader.Numbers<TokenId>();
  plan.token_types = reader.Numbers<std::uint8_t>();
  plan.sequences = reader.List<PlanSequence>([&] { return ReadSequence(reader); });
  plan.copies = reader.List<KvCopy>([&] { return ReadCopy(reader); });
  plan.reads = reader.List<PlanRead>([&] { return ReadRead(reader); });
  plan.label_lists = reader.List<LabelList>([&] { return LabelList(reader.Numbers<TokenId>()); });
  if (reader.Value<bool>()) {
    PlanStep& step = plan.step.emplace();
    step.begin = reader.Value<std::int32_t>();
    step.end = reader.Value<std::int32_t>();
  }
  Check(reader.AtEnd(), "a plan ends where its bytes end");
  return plan;
}

}  // namespace scorecast::proto
