// What a front predicts of its replicas, and which of them it chooses.

#include "coordinator/front/replica_choice.h"

#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/front/body_pieces.h"
#include "coordinator/front/replica_load.h"

namespace scorecast::coordinator {
namespace replica_choice_test {

using std::chrono::milliseconds;

const Clock::time_point kStart = Clock::time_point() + std::chrono::hours(1);

std::string RandomText(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, ' ');
  for (char& c : text) {
    c = static_cast<char>('a' + random() % 26);
  }
  return text;
}

std::size_t BytesOf(const std::vector<BodyPiece>& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t sum, const BodyPiece& one) { return sum + one.bytes; });
}

std::size_t KnownAfter(const std::string& before, const std::string& text) {
  SentPieces sent;
  sent.Add(PiecesOf(before));
  return sent.KnownBytes(PiecesOf(text));
}

TEST(BodyPieces, AreAllOfABody) {
  for (const std::size_t bytes : {0U, 1U, 255U, 256U, 300U, 5000U, 100'000U}) {
    EXPECT_EQ(BytesOf(PiecesOf(RandomText(bytes, 1))), bytes);
    EXPECT_EQ(BytesOf(PiecesOf(std::string(bytes, 'x'))), bytes);
  }
  EXPECT_EQ(BytesOf(PiecesOf(std::string(3U << 20, 'x'))), 1U << 20) << "of the first megabyte";
}

TEST(BodyPieces, HaveAboutAKilobyte) {
  const std::size_t pieces = PiecesOf(RandomText(1'000'000, 2)).size();
  EXPECT_GT(pieces, 700U);
  EXPECT_LT(pieces, 1400U);
}

TEST(BodyPieces, OfATextAreTheSameWhereverItStands) {
  const std::string text = RandomText(50'000, 3);
  EXPECT_EQ(KnownAfter(text, text), text.size());
  EXPECT_GE(KnownAfter(text, "a query\n" + text), 45'000U);
  EXPECT_GE(KnownAfter(text, text + "an end"), 45'000U);
  EXPECT_EQ(KnownAfter(text, RandomText(50'000, 4)), 0U);
}

TEST(BodyPieces, TheLatestAreKept) {
  SentPieces sent(/*max_pieces=*/3);
  const std::vector<BodyPiece> pieces = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
  sent.Add(std::vector(pieces.begin(), pieces.begin() + 3));
  sent.Add(std::vector{pieces[0]});  // Is used again.
  sent.Add(std::vector{pieces[3]});
  EXPECT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent.KnownBytes(pieces), 10U + 30U + 40U);
  sent.Clear();
  EXPECT_EQ(sent.KnownBytes(pieces), 0U);
}

TEST(ReplicaLoad, IsTheStateAndWhatWasSentSince) {
  ReplicaLoad load;
  EXPECT_FALSE(load.is_usable());
  load.OnStatus(1, true, kStart);
  EXPECT_TRUE(load.is_usable());
  EXPECT_EQ(load.wait_seconds(), 1);
  load.OnSent(7, 0.5, {}, kStart);
  load.OnSent(8, 0.25, {}, kStart + milliseconds(100));
  EXPECT_EQ(load.wait_seconds(), 1.75);
  EXPECT_EQ(load.waiting(), 2U);
  // The state was on its way when the second request was sent.
  load.OnStatus(1.5, true, kStart + milliseconds(101));
  EXPECT_EQ(load.wait_seconds(), 1.75);
  load.OnStatus(1.5, true, kStart + milliseconds(200));
  EXPECT_EQ(load.wait_seconds(), 1.5);
  EXPECT_EQ(load.waiting(), 2U);
  load.OnAnswered(7, kStart + milliseconds(300));
  load.OnEnded(7, kStart + milliseconds(300));
  EXPECT_EQ(load.wait_seconds(), 1.5) << "only the next state is without it";
  EXPECT_EQ(load.waiting(), 1U);
}

TEST(ReplicaLoad, AnAnswerTakesBackWhatNoStateHasSeen) {
  ReplicaLoad load;
  load.OnStatus(0, true, kStart);
  load.OnSent(1, 0.5, {}, kStart);
  load.OnSent(2, 0.25, {}, kStart);
  load.OnSent(3, 0.125, {}, kStart);
  load.OnAnswered(1, kStart);
  load.OnEnded(1, kStart);
  EXPECT_EQ(load.wait_seconds(), 0.375);
  load.OnEnded(2, kStart);
  EXPECT_EQ(load.wait_seconds(), 0.125);
  load.OnStatus(0, true, kStart + milliseconds(100));
  EXPECT_EQ(load.wait_seconds(), 0);
  load.OnAnswered(3, kStart + milliseconds(100));
  load.OnEnded(3, kStart + milliseconds(100));
  EXPECT_EQ(load.wait_seconds(), 0);
}

TEST(ReplicaLoad, TimesOfAnswersAddUpToTheTime) {
  ReplicaLoad load;
  load.OnSent(1, 1, {}, kStart);
  load.OnSent(2, 1, {}, kStart);
  EXPECT_DOUBLE_EQ(load.OnAnswered(2, kStart + milliseconds(250)), 0.25);
  EXPECT_DOUBLE_EQ(load.OnAnswered(1, kStart + milliseconds(375)), 0.125);
  load.OnSent(3, 1, {}, kStart + milliseconds(1000));
  EXPECT_DOUBLE_EQ(load.OnAnswered(3, kStart + milliseconds(1500)), 0.5);
  EXPECT_EQ(load.OnAnswered(3, kStart + milliseconds(1500)), 0) << "it is not there";
}

TEST(ReplicaLoad, HasRoomForSecondsOrForTwoRequests) {
  const OutstandingLimit limit = {.seconds = 0.5, .requests = 2};
  ReplicaLoad load;
  load.OnStatus(10, true, kStart);
  EXPECT_TRUE(load.HasRoom(limit, 10));
  load.OnSent(1, 0.5, {}, kStart);
  EXPECT_TRUE(load.HasRoom(limit, 10));
  EXPECT_FALSE(load.HasRoom(limit, 9)) << "another one has room much sooner";
  load.OnSent(2, 5, {}, kStart);
  EXPECT_FALSE(load.HasRoom(limit, 15.5));
  load.OnStatus(0.25, true, kStart + milliseconds(100));
  EXPECT_TRUE(load.HasRoom(limit, 0)) << "it says that little waits";
  load.OnSent(3, 0.25, {}, kStart + milliseconds(100));
  EXPECT_FALSE(load.HasRoom(limit, 0));
}

TEST(ReplicaLoad, HasNoRoomForMoreThanSomeRequestsHoweverShort) {
  const OutstandingLimit limit = {.seconds = 0.5, .requests = 2, .most_requests = 3};
  ReplicaLoad load;
  load.OnStatus(0, true, kStart);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_TRUE(load.HasRoom(limit, 0));
    load.OnSent(id, 0, {}, kStart);
  }
  EXPECT_FALSE(load.HasRoom(limit, 0));
  load.OnEnded(2, kStart);
  EXPECT_TRUE(load.HasRoom(limit, 0));
}

TEST(ReplicaLoad, HasNoRoomAfterItHasRefusedARequestUntilItsNextState) {
  ReplicaLoad load;
  load.OnStatus(0, true, kStart);
  load.OnFull();
  EXPECT_FALSE(load.HasRoom({}, 0));
  load.OnStatus(0, true, kStart);
  EXPECT_TRUE(load.HasRoom({}, 0));
}

TEST(ReplicaLoad, CannotBeUsedAgainOnceItDrains) {
  ReplicaLoad load;
  load.OnStatus(0, true, kStart);
  load.OnDraining();
  load.OnStatus(0, true, kStart);
  EXPECT_FALSE(load.is_usable()) << "the state is older";
  load.OnLost();
  load.OnStatus(0, true, kStart);
  EXPECT_TRUE(load.is_usable());
}

TEST(ReplicaLoad, KnowsHowManyCompletionsRun) {
  ReplicaLoad load;
  load.OnStatus(0, true, kStart, 1);
  EXPECT_EQ(load.running(), 1U);
  EXPECT_GT(load.wait_seconds(), 0);
  for (const std::uint64_t id : {7, 8}) {
    load.OnSent(id, 0, {}, kStart);
    EXPECT_EQ(load.running(), 1U) << "its reply has not begun";
  }
  load.OnAnswered(7, kStart);
  load.OnAnswered(8, kStart);
  EXPECT_EQ(load.running(), 2U) << "more than the replica has said";
  load.OnEnded(7, kStart);
  load.OnEnded(8, kStart);
  EXPECT_EQ(load.running(), 1U);
  load.OnSent(9, 0, {}, kStart);
  load.OnAnswered(9, kStart);
  load.OnLost();
  load.OnEnded(9, kStart);
  EXPECT_EQ(load.running(), 0U);
  EXPECT_EQ(load.wait_seconds(), 0);
}

TEST(ReplicaLoad, RequestsShareItsTime) {
  ReplicaLoad load;
  load.OnSent(1, 0, {}, kStart);
  load.OnSent(2, 0, {}, kStart + milliseconds(1000));
  EXPECT_DOUBLE_EQ(load.UsedBy(1, kStart + milliseconds(1000)), 1);
  EXPECT_DOUBLE_EQ(load.UsedBy(1, kStart + milliseconds(2000)), 1.5);
  EXPECT_DOUBLE_EQ(load.UsedBy(2, kStart + milliseconds(2000)), 0.5);
  load.OnAnswered(1, kStart + milliseconds(2000));  // Its reply goes on.
  load.OnEnded(2, kStart + milliseconds(2000));
  EXPECT_DOUBLE_EQ(load.UsedBy(1, kStart + milliseconds(3000)), 2.5);
  load.OnEnded(1, kStart + milliseconds(3000));
  EXPECT_EQ(load.UsedBy(1, kStart + milliseconds(4000)), 0);
  load.OnSent(3, 0, {}, kStart + milliseconds(9000));
  EXPECT_DOUBLE_EQ(load.UsedBy(3, kStart + milliseconds(9250)), 0.25) << "nothing was there before";
}

TEST(ReplicaLoad, NothingIsKnownOfAReplicaThatIsLost) {
  ReplicaLoad load;
  load.OnStatus(1, true, kStart);
  load.OnSent(1, 1, PiecesOf("text"), kStart);
  load.OnLost();
  EXPECT_FALSE(load.is_usable());
  EXPECT_EQ(load.waiting(), 0U);
  EXPECT_EQ(load.wait_seconds(), 0);
  EXPECT_EQ(load.pieces().size(), 0U);
}

TEST(TimePerByte, FollowsTheReplies) {
  TimePerByte time;
  for (int i = 0; i < 500; ++i) {
    time.Learn(1000, 0.5);
    time.Learn(9000, 4.5);
  }
  EXPECT_NEAR(time.Seconds(2000), 1, 0.01);
  for (int i = 0; i < 500; ++i) {
    time.Learn(1000, 0.25);
  }
  EXPECT_NEAR(time.Seconds(2000), 0.5, 0.01);
  TimePerByte of_nothing;
  for (int i = 0; i < 100'000; ++i) {
    of_nothing.Learn(0, 0);
  }
  EXPECT_EQ(of_nothing.Seconds(0), 0);
}

class ReplicaChoice : public ::testing::Test {
 protected:
  ReplicaChoice() {
    for (int i = 0; i < 500; ++i) {
      time_.Learn(1000, 1);  // A second for a kilobyte.
    }
    a_.OnStatus(0, true, kStart);
    b_.OnStatus(0, true, kStart);
  }

  /// 'a', 'b' or '-'.
  char Chosen(std::size_t bytes, const std::vector<BodyPiece>& pieces = {}) {
    const std::vector<const ReplicaLoad*> loads = {&a_, &b_};
    const auto chosen = ChooseReplica(loads, {bytes, pieces}, time_);
    return chosen ? static_cast<char>('a' + chosen->index) : '-';
  }

  TimePerByte time_;
  ReplicaLoad a_;
  ReplicaLoad b_;
};

TEST_F(ReplicaChoice, IsWhereTheWaitIsShortest) {
  EXPECT_EQ(Chosen(1000), 'a');
  a_.OnStatus(2, true, kStart);
  b_.OnStatus(1, true, kStart);
  EXPECT_EQ(Chosen(1000), 'b');
  b_.OnSent(1, 1.5, {}, kStart);
  EXPECT_EQ(Chosen(1000), 'a') << "what was sent since counts";
}

TEST_F(ReplicaChoice, IsOneThatCanBeUsed) {
  b_.OnStatus(100, true, kStart);
  a_.OnStatus(0, false, kStart);
  EXPECT_EQ(Chosen(1000), 'b');
  a_.OnStatus(0, true, kStart);
  EXPECT_EQ(Chosen(1000), 'a');
  a_.OnDraining();
  EXPECT_EQ(Chosen(1000), 'b');
  b_.OnLost();
  EXPECT_EQ(Chosen(1000), '-');
}

TEST_F(ReplicaChoice, IsWhereMuchIsCachedUnlessTheWaitIsLonger) {
  const std::string text = RandomText(4000, 5);
  const auto pieces = PiecesOf(text);
  b_.OnSent(1, 0, pieces, kStart);
  EXPECT_EQ(Chosen(text.size(), pieces), 'b');
  b_.OnStatus(3, true, kStart);
  EXPECT_EQ(Chosen(text.size(), pieces), 'b') << "three seconds are less than the text's four";
  b_.OnStatus(5, true, kStart);
  EXPECT_EQ(Chosen(text.size(), pieces), 'a');
  const std::string other = RandomText(4000, 6);
  EXPECT_EQ(Chosen(other.size(), PiecesOf(other)), 'a');
}

TEST_F(ReplicaChoice, OfEqualOnesIsThatWithTheFewestRequests) {
  a_.OnSent(1, 0, {}, kStart);
  EXPECT_EQ(Chosen(1000), 'b');
  b_.OnSent(2, 0, {}, kStart);
  EXPECT_EQ(Chosen(1000), 'a');
}

TEST_F(ReplicaChoice, IsNotWhereManyCompletionsRun) {
  for (std::uint64_t id = 100; id < 150; ++id) {
    a_.OnSent(id, 0, {}, kStart);
    a_.OnAnswered(id, kStart);
  }
  EXPECT_EQ(Chosen(1000), 'b');
  const std::string text = RandomText(2000, 7);
  const auto pieces = PiecesOf(text);
  a_.OnSent(1, 0, pieces, kStart);
  EXPECT_EQ(Chosen(text.size(), pieces), 'b') << "although it has the text";
}

TEST_F(ReplicaChoice, SaysTheSecondsOfTheRequestItself) {
  const std::string text = RandomText(4000, 5);
  const auto pieces = PiecesOf(text);
  a_.OnSent(1, 0, pieces, kStart);
  const std::vector<const ReplicaLoad*> loads = {&a_, nullptr};
  EXPECT_NEAR(ChooseReplica(loads, {text.size(), {}}, time_)->seconds, 4, 0.01);
  EXPECT_EQ(ChooseReplica(loads, {text.size(), pieces}, time_)->seconds, 0);
}

}  // namespace replica_choice_test
}  // namespace scorecast::coordinator
