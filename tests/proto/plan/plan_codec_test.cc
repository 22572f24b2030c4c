#include "proto/plan/plan_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/check.h"

namespace scorecast::proto {
namespace plan_codec_test {

template <typename MakeOne>
auto RandomList(std::mt19937_64& random, std::size_t limit, MakeOne make_one) {
  std::vector<decltype(make_one())> list;
  for (std::size_t left = random() % limit; left > 0; --left) {
    list.push_back(make_one());
  }
  return list;
}

ForwardPlan RandomPlan(std::mt19937_64& random) {
  const auto number = [&] { return static_cast<std::int32_t>(random()); };
  const auto segment = [&] {
    PlanSegment made;
    made.kind = static_cast<SegmentKind>(random() % 3);
    made.continues = random() % 2 == 0;
    made.first_position = number();
    made.compute_begin = number();
    made.stored = number();
    made.compute_end = number();
    made.kv = {random() % 2 == 0, number()};
    made.later = number();
    return made;
  };
  const auto fraction = [&] { return static_cast<float>(random() % 1000) / 64; };
  const auto sequence = [&] {
    PlanSequence made;
    made.segments = RandomList(random, 6, segment);
    made.block_weighting = {fraction(), fraction()};
    return made;
  };
  const auto copy = [&] { return KvCopy{number(), number(), number()}; };
  const auto place = [&] { return TokenPlace{fraction(), number()}; };
  const auto read = [&] {
    PlanRead made;
    made.row = number();
    made.label_list = number();
    made.normalizer = random() % 2 == 0;
    made.top_k = number();
    made.temperature = fraction();
    if (random() % 2 == 0) {
      made.draw = {random(), static_cast<std::uint32_t>(random()), number(), place()};
    }
    made.target = number();
    made.excludes_labels = random() % 2 == 0;
    made.ranks_target = random() % 2 == 0;
    made.bin_width = fraction();
    made.masses = {fraction(), RandomList(random, 4, place)};
    if (random() % 2 == 0) {
      made.first_row = static_cast<std::int32_t>(random() % 100);
      made.raw = random() % 2 == 0;
      made.goes_on = random() % 2 == 0;
      made.rows_before = number();
      made.pooled = RandomList(random, 9, fraction);
    }
    return made;
  };
  ForwardPlan plan;
  plan.bucket = static_cast<std::uint32_t>(random());
  plan.read_bucket = static_cast<std::uint32_t>(random());
  plan.tokens = RandomList(random, 200, number);
  plan.sequences = RandomList(random, 5, sequence);
  plan.copies = RandomList(random, 5, copy);
  plan.reads = RandomList(random, 20, read);
  plan.label_lists =
      RandomList(random, 5, [&] { return LabelList(RandomList(random, 8, number)); });
  if (random() % 2 == 0) {
    plan.step = {number(), number()};
  }
  return plan;
}

/// A plan without empty lists, so that truncation is tried in each kind of field.
ForwardPlan SmallPlan() {
  ForwardPlan plan;
  plan.bucket = 32;
  plan.read_bucket = 32;
  plan.tokens = {1, 2, 3};
  plan.sequences = {{{{SegmentKind::kPrefix, false, 0, 0, 0, 2, {true, 16}},
                      {SegmentKind::kBlock, true, 2, 0, 0, 1, {false, 32}}},
                     {0.5F, 2}}};
  plan.copies = {{64, 128, 3}};
  plan.reads = {{.row = 2,
                 .label_list = 0,
                 .normalizer = true,
                 .top_k = 5,
                 .temperature = 1,
                 .draw = Draw{3, 4, 2, {0.25F, 7}},
                 .target = 6,
                 .masses = {0.5F, {{0.125F, 8}}}},
                {.row = 2, .first_row = 1, .rows_before = 4, .pooled = {0.5F, -1}}};
  plan.label_lists = {{7, 8}, {9}};
  plan.step = {2, 3};
  return plan;
}

TEST(PlanCodec, AnEmptyPlanComesBack) {
  EXPECT_EQ(DecodePlan(EncodePlan(ForwardPlan{})), ForwardPlan{});
}

TEST(PlanCodec, RandomPlansComeBack) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const ForwardPlan plan = RandomPlan(random);
    const std::vector<std::byte> bytes = EncodePlan(plan);
    EXPECT_EQ(DecodePlan(bytes), plan);
    EXPECT_EQ(EncodePlan(DecodePlan(bytes)), bytes);
  }
}

TEST(PlanCodec, TokensTakeFourBytesEach) {
  ForwardPlan plan = SmallPlan();
  const std::size_t before = EncodePlan(plan).size();
  plan.tokens.resize(plan.tokens.size() + 1000);
  EXPECT_EQ(EncodePlan(plan).size(), before + 4000);
}

struct CheckFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Turns a failed check into an exception, so that every truncation can be tried in one process.
class MalformedPlan : public testing::Test {
 protected:
  void SetUp() override {
    SetCheckFailureHandler([](const char* message) { throw CheckFailure(message); });
  }
  void TearDown() override {
    SetCheckFailureHandler([](const char* message) {
      std::fprintf(stderr, "%s\n", message);
      std::abort();
    });
  }

  std::vector<std::byte> bytes_ = EncodePlan(SmallPlan());
};

TEST_F(MalformedPlan, CutAnywhereIsNoticed) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    // A copy of exactly this size, so that a sanitizer sees a read past its end.
    const std::vector<std::byte> cut(bytes_.begin(),
                                     bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(DecodePlan(cut), CheckFailure) << size << " of " << bytes_.size() << " bytes";
  }
}

TEST_F(MalformedPlan, BytesLeftOverAreNoticed) {
  bytes_.push_back(std::byte{0});
  EXPECT_THROW(DecodePlan(bytes_), CheckFailure);
}

TEST_F(MalformedPlan, AListLongerThanTheBytesIsNoticedBeforeItIsAllocated) {
  std::vector<std::byte> bytes = EncodePlan(ForwardPlan{});
  for (std::size_t list = 8; list + 4 <= bytes.size(); list += 4) {
    std::vector<std::byte> lying = bytes;
    for (std::size_t i = 0; i < 4; ++i) {
      lying[list + i] = std::byte{0xff};
    }
    EXPECT_THROW(DecodePlan(lying), CheckFailure);
  }
}

TEST(PlanCodecDeathTest, ATruncatedPlanEndsTheProcess) {
  const std::vector<std::byte> bytes = EncodePlan(SmallPlan());
  const auto cut = std::span(bytes).first(bytes.size() - 1);
  EXPECT_DEATH(DecodePlan(cut), "broken invariant");
}

}  // namespace plan_codec_test
}  // namespace scorecast::proto
