#include "coordinator/schedule/pages/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/pages/kept_segments.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace capacity_test {

using proto::PackedSequence;
using proto::PlanLimits;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr PlanLimits kLimits{
    .max_rows = 32, .max_reads = 4, .pass_kv_rows = 96, .kept_kv_rows = 128};

std::optional<proto::Error> Fault(const Request& request, const PlanLimits& limits = kLimits) {
  return CapacityFault(request.sequences[0], limits, request.generations);
}

Request Items(int query, const std::vector<int>& items) {
  std::vector<std::vector<proto::TokenId>> texts;
  for (const int length : items) {
    texts.push_back(Text(3, length));
  }
  return ItemsRequest(Text(1, query), texts);
}

TEST(Capacity, CountsKeptPagesIfOnePassIsNotEnough) {
  EXPECT_FALSE(Fault(Items(32, {}))) << "one pass";
  EXPECT_FALSE(Fault(Items(128, {}))) << "several";
  const auto fault = Fault(Items(129, {}));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 400);
  EXPECT_EQ(fault->reason, "capacity");
  EXPECT_EQ(fault->param, "");
  EXPECT_THAT(fault->message, HasSubstr("129 tokens need K/V for 192 rows > 128"));
}

TEST(Capacity, ItemsOfLongRequestsNeedNoPagesUnlessTheyAreLongerThanAPass) {
  EXPECT_FALSE(Fault(Items(128, std::vector<int>(50, 32))));
  EXPECT_TRUE(Fault(Items(128, {33})));
  EXPECT_FALSE(Fault(Items(64, {33, 64, 50}))) << "one after the other in the same page";
  EXPECT_TRUE(Fault(Items(64, {33, 65})));
}

TEST(Capacity, CountsGranulesOfPassLocalStorage) {
  const PlanLimits no_pages{.max_rows = 32, .max_reads = 9, .pass_kv_rows = 96, .kept_kv_rows = 0};
  EXPECT_FALSE(Fault(Items(5, {1, 1, 1, 1, 1}), no_pages));
  EXPECT_TRUE(Fault(Items(5, {1, 1, 1, 1, 1, 1}), no_pages));
  EXPECT_FALSE(Fault(Items(5, {17, 10}), no_pages));
}

TEST(Capacity, ReadsOfOneRowMustFitOnePass) {
  Request request = Items(3, {});
  PackedSequence& sequence = request.sequences[0];
  sequence.reads.assign(4, sequence.reads[0]);
  EXPECT_FALSE(Fault(request));
  sequence.reads.push_back(sequence.reads[0]);
  ASSERT_TRUE(Fault(request));
  EXPECT_THAT(Fault(request)->message, HasSubstr("Too many reads of one token: 5 > 4."));
  EXPECT_FALSE(Fault(Items(3, {1, 1, 1, 1, 1})));
}

TEST(Capacity, LogitsOfOneRowMustFitOnePass) {
  Request request = Items(3, {1, 1});
  PackedSequence& sequence = request.sequences[0];
  sequence.reads.insert(sequence.reads.begin(), sequence.reads[0]);
  PlanLimits limits = kLimits;
  limits.max_logit_bytes = 2 * (3 * 4 + 12 + 2 * 8);
  EXPECT_FALSE(Fault(request, limits)) << "in two passes";
  --limits.max_logit_bytes;
  const auto fault = Fault(request, limits);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 413);
  EXPECT_EQ(fault->reason, "answer_too_large");
  EXPECT_EQ(fault->message, "The logits of one token would be too large: 80 > 79 bytes.");
}

TEST(Capacity, ReadsOfCompletionsCountWithTheScores) {
  EXPECT_FALSE(Fault(PlainRequest(Text(1, 3), {1, 1, 1, 1})));
  EXPECT_TRUE(Fault(PlainRequest(Text(1, 3), {1, 1, 1, 1, 1})));
}

TEST(Capacity, CompletionsTakePagesWithTheirPrompt) {
  EXPECT_FALSE(Fault(PlainRequest(Text(1, 64), {65}))) << "the last token has no row";
  const auto fault = Fault(PlainRequest(Text(1, 64), {66}));
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message,
              HasSubstr("64 tokens and the completion need K/V for 192 rows > 128"));
  EXPECT_TRUE(Fault(PlainRequest(Text(1, 65), {2})));
  EXPECT_FALSE(Fault(PlainRequest(Text(1, 128), {1})));
  EXPECT_FALSE(Fault(ChunksRequest({}, {Text(1, 3)}, {Text(2, 3)}, 62)));
  EXPECT_TRUE(Fault(ChunksRequest({}, {Text(1, 3)}, {Text(2, 3)}, 63)));
}

TEST(Capacity, KeepsSegmentsThatLaterRowsSee) {
  const Request scored = ChunksRequest(Text(1, 20), {Text(2, 9)}, {Text(3, 3), Text(4, 40)});
  EXPECT_THAT(MustBeKept(scored.sequences[0], kLimits, {}), ElementsAre(true, true, false, true));
  EXPECT_EQ(KeptPages(scored.sequences[0], kLimits, {}), 3);
  const Request generating = ChunksRequest(Text(1, 20), {Text(2, 9)}, {Text(3, 3), Text(4, 40)}, 9);
  EXPECT_THAT(MustBeKept(generating.sequences[0], kLimits, generating.generations),
              ElementsAre(true, true, true, true));
  EXPECT_EQ(KeptPages(generating.sequences[0], kLimits, generating.generations), 4);
  EXPECT_THAT(MustBeKept(Items(40, {33, 9}).sequences[0], kLimits, {}),
              ElementsAre(true, true, false));
}

TEST(Capacity, EachChunkHasPagesOfItsOwn) {
  const auto pages = [](int system, const std::vector<int>& chunks) {
    std::vector<std::vector<proto::TokenId>> texts;
    for (const int length : chunks) {
      texts.push_back(Text(2, length));
    }
    const Request request = ChunksRequest(Text(1, system), texts, {Text(3, 3)});
    return KeptPages(request.sequences[0], kLimits, {});
  };
  EXPECT_EQ(pages(64, std::vector<int>(1200, 7)), 1 + 1200);
  EXPECT_EQ(pages(65, {1, 64, 64 + 1, 128}), 2 + 1 + 1 + 2 + 2);
}

TEST(Capacity, TheFirstTokenIsReadFromTheLastRowBeforeIt) {
  const Request plain = PlainRequest(Text(1, 7), {2, 2});
  EXPECT_EQ(FirstReadRow(plain.sequences[0], plain.generations[0]), 6);
  EXPECT_EQ(FirstReadRow(plain.sequences[0], plain.generations[1]), 6);
  const Request chunks = ChunksRequest(Text(1, 4), {Text(2, 3)}, {Text(3, 2), Text(4, 5)}, 2);
  EXPECT_EQ(FirstReadRow(chunks.sequences[0], chunks.generations[0]), 8);
  EXPECT_EQ(FirstReadRow(chunks.sequences[0], chunks.generations[1]), 13);
}

}  // namespace capacity_test
}  // namespace scorecast::coordinator
