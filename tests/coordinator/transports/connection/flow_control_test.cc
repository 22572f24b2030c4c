// The flow control of a connection, on a stream and a protocol without a socket.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/connection/connection.h"
#include "tests/coordinator/transports/connection/fake_stream.h"

namespace scorecast::coordinator {
namespace flow_control_test {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Calls = std::vector<std::shared_ptr<ConnectionCall>>;

/// Longer than any test takes. io_context::run_for returns early if nothing is left to run.
constexpr auto kPatience = std::chrono::seconds(60);

constexpr std::size_t kMaxInFlight = 3;
constexpr std::int64_t kAddressReplies = std::int64_t{8} << 20;

/// The beginning of a request that has more bytes.
constexpr char kSlow = '~';

/// Each byte is a request, apart from kSlow. A request of several bytes ends with any other byte.
class ByteProtocol : public Protocol {
 public:
  explicit ByteProtocol(Calls& requests) : requests_(requests) {}

  void ReadRequest(std::shared_ptr<Connection> connection) override {
    asio::async_read(connection->stream(), asio::buffer(&byte_, 1),
                     [this, connection](const boost::system::error_code& error, std::size_t) {
                       if (error) {
                         connection->CloseNow();
                         return;
                       }
                       if (!connection->is_ending()) {
                         connection->BeginReading();
                       }
                       Take(connection, byte_);
                     });
  }
  Reply ErrorReply(const proto::Error& error, HeldBytes& replies) const override {
    return {error.message, replies.Hold(static_cast<std::int64_t>(error.message.size()))};
  }
  std::size_t max_in_flight() const override { return kMaxInFlight; }

 private:
  void Take(const std::shared_ptr<Connection>& connection, char byte) {
    if (!connection->is_ending() && byte == kSlow) {
      ReadRest(connection);
      return;
    }
    if (!connection->is_ending()) {
      requests_.push_back(connection->BeginRequest(/*format=*/nullptr));
    }
    connection->ReadNext();
  }
  void ReadRest(const std::shared_ptr<Connection>& connection) {
    connection->stream().async_read_some(
        asio::buffer(rest_),
        [this, connection](const boost::system::error_code& error, std::size_t bytes) {
          if (error) {
            connection->CloseNow();
          } else {
            Take(connection, rest_[bytes - 1]);
          }
        });
  }

  Calls& requests_;
  char byte_ = 0;
  std::vector<char> rest_ = std::vector<char>(std::size_t{1} << 20);
};

class FlowControl : public ::testing::Test {
 protected:
  explicit FlowControl(milliseconds idle_timeout = kPatience, milliseconds read_timeout = kPatience)
      : context_{idle_timeout,
                 read_timeout,
                 kPatience,
                 counters_,
                 memory_,
                 [this](const std::vector<std::shared_ptr<Call>>& left) { cancelled_ = left; },
                 [this](Clock::duration wait) { io_waits_.push_back(wait); },
                 [this](const ClientId&, const Holder&, const proto::Error& error) {
                   counters_.CountRefusal(error.reason);
                 }} {
    auto stream = std::make_unique<FakeStream>(io_);
    stream_ = stream.get();
    connection_ = std::make_shared<Connection>(
        ClientId{.connection = 7}, std::move(stream), std::make_unique<ByteProtocol>(requests_),
        context_, address_, [this](std::uint64_t id) { closed_.push_back(id); });
  }

  ~FlowControl() override {
    connection_->Close();
    Run();
    EXPECT_THAT(closed_, ElementsAre(7)) << "once";
    requests_.clear();
    cancelled_.clear();
    EXPECT_EQ(connection_.use_count(), 1) << "nothing refers to it any more";
    EXPECT_EQ(counters_.requests_in_flight, 0);
  }

  /// Runs what is ready.
  void Run() {
    io_.restart();
    io_.poll();
  }
  /// Runs up to `time`, or until nothing is left.
  void RunFor(milliseconds time) {
    io_.restart();
    io_.run_for(time);
  }

  /// The client sends `requests`. Each one that is read begins.
  void Request(const std::string& requests) {
    stream_->Send(requests);
    for (std::size_t begun = requests_.size(); Run(), begun < requests_.size(); ++begun) {
      requests_[begun]->Begun();
    }
  }
  void Respond(std::size_t request, const std::string& bytes, bool is_last = true) {
    requests_[request]->Send(
        {bytes, requests_[request]->replies().Hold(static_cast<std::int64_t>(bytes.size())),
         is_last, [this, bytes] { written_.push_back(bytes); }});
    Run();
  }
  /// The client reads what is being written.
  std::string Take() {
    std::string bytes = stream_->Take();
    Run();
    return bytes;
  }

  asio::io_context io_;
  HeldBytes all_replies_{std::int64_t{1} << 30};
  const std::shared_ptr<AddressBytes> address_ = std::make_shared<AddressBytes>(
      AddressBytes{HeldBytes(1'000'000), HeldBytes(kAddressReplies, &all_replies_)});
  ClientCounters counters_;
  MemoryReturn memory_{io_.get_executor()};
  std::vector<std::shared_ptr<Call>> cancelled_;
  ConnectionContext context_;
  Calls requests_;
  std::vector<std::uint64_t> closed_;
  std::vector<std::string> written_;
  std::vector<Clock::duration> io_waits_;
  FakeStream* stream_ = nullptr;
  std::shared_ptr<Connection> connection_;
};

TEST_F(FlowControl, ReadsNoMoreThanMayBeInFlight) {
  connection_->Start();
  Request("abcde");
  EXPECT_THAT(requests_, SizeIs(kMaxInFlight));
  EXPECT_EQ(stream_->unread(), 2U);
  Respond(1, "B");
  EXPECT_THAT(requests_, SizeIs(3)) << "the client has not read the reply";
  EXPECT_EQ(Take(), "B");
  EXPECT_THAT(requests_, SizeIs(4));
  EXPECT_EQ(stream_->unread(), 1U);
}

TEST_F(FlowControl, ARequestCountsFromTheArrivalOfItsFirstByte) {
  connection_->Start();
  stream_->SetSinceArrival(std::chrono::seconds(10));
  const Clock::time_point begin = Clock::now();
  Request("a");
  const Clock::time_point end = Clock::now();
  ASSERT_THAT(requests_, SizeIs(1));
  EXPECT_GE(requests_[0]->arrived(), begin - std::chrono::seconds(10));
  EXPECT_LE(requests_[0]->arrived(), end - std::chrono::seconds(10));
  // It may be later by as much as the system's clock is coarse.
  stream_->SetSinceArrival(milliseconds(10));
  Request("b");
  EXPECT_GE(requests_[1]->arrived(), end);
  EXPECT_THAT(io_waits_, ElementsAre(std::chrono::seconds(10), milliseconds(0)));
}

TEST_F(FlowControl, ReadsTheNextRequestWhenTheLastOneHasBegun) {
  connection_->Start();
  stream_->Send("ab");
  Run();
  ASSERT_THAT(requests_, SizeIs(1));
  requests_[0]->Begun();
  Run();
  EXPECT_THAT(requests_, SizeIs(2));
}

TEST_F(FlowControl, ReadsNothingWhileTooManyReplyBytesAreHeld) {
  connection_->Start();
  Request("a");
  Held room = requests_[0]->replies().Hold(std::int64_t{4} << 20);
  Request("bc");
  EXPECT_THAT(requests_, SizeIs(2)) << "the read of the second was under way";
  EXPECT_EQ(all_replies_.bytes(), std::int64_t{4} << 20);
  room.reset();
  Respond(0, "A");
  EXPECT_EQ(all_replies_.bytes(), 1);
  EXPECT_EQ(Take(), "A");
  EXPECT_THAT(requests_, SizeIs(3));
  EXPECT_EQ(all_replies_.bytes(), 0);
}

TEST_F(FlowControl, ReadsNothingWhileItsAddressHoldsTooManyReplyBytes) {
  connection_->Start();
  const Held others = address_->replies.Hold(kAddressReplies);
  Request("a");
  ASSERT_THAT(requests_, SizeIs(1)) << "it has no replies of its own";
  Respond(0, "A");
  Request("bc");
  EXPECT_THAT(requests_, SizeIs(2)) << "the read of the second was under way";
  EXPECT_EQ(Take(), "A");
  EXPECT_THAT(requests_, SizeIs(3)) << "it has none again";
}

TEST_F(FlowControl, AConnectionWithRepliesGoesOnWhenTheOthersOfItsAddressHaveFewer) {
  connection_->Start();
  Held others = address_->replies.Hold(kAddressReplies);
  Request("a");
  Respond(0, "A1", /*is_last=*/false);
  Respond(0, "A2");
  Request("bc");
  EXPECT_THAT(requests_, SizeIs(2));
  others.reset();
  EXPECT_EQ(Take(), "A1");
  EXPECT_THAT(requests_, SizeIs(3)) << "although A2 is held";
}

TEST_F(FlowControl, GoesOnWhenACancelledRequestHoldsNoReplyBytesAnyMore) {
  connection_->Start();
  Request("a");
  Held room = requests_[0]->replies().Hold(std::int64_t{4} << 20);
  Request("bc");
  EXPECT_EQ(connection_->Cancel(/*number=*/0), 2U);
  Run();
  EXPECT_THAT(requests_, SizeIs(2));
  room.reset();  // Nothing tells the connection of it.
  io_.restart();
  while (requests_.size() < 3 && io_.run_one() > 0) {
  }
  EXPECT_THAT(requests_, SizeIs(3));
}

TEST_F(FlowControl, GoesOnAtOnceWhenTheReplyToACancelledRequestIsDropped) {
  connection_->Start();
  Request("a");
  Held room = requests_[0]->replies().Hold(std::int64_t{4} << 20);
  Request("bc");
  EXPECT_EQ(connection_->Cancel(/*number=*/0), 2U);
  requests_[0]->Send({"A", std::exchange(room, nullptr)});
  Run();
  EXPECT_THAT(requests_, SizeIs(3));
  EXPECT_EQ(stream_->Take(), "");
}

TEST_F(FlowControl, AFrontThatShowsItsKeyAgainHasTheSameCounts) {
  context_.bytes_of_front = [this] { return std::make_shared<AddressBytes>(*address_); };
  const auto before = connection_->replies();
  connection_->BecomeFront(std::make_shared<KeyHolder>());
  const auto of_front = connection_->replies();
  EXPECT_NE(of_front, before);
  const Held held = of_front->Hold(std::int64_t{256} << 20);
  const auto second = std::make_shared<KeyHolder>();
  connection_->BecomeFront(second);
  EXPECT_EQ(connection_->front(), second);
  EXPECT_EQ(connection_->replies(), of_front);
  EXPECT_FALSE(connection_->replies()->HasRoom());
}

class RequestRoom : public FlowControl {
 protected:
  static constexpr std::int64_t kLimit = 1'000'000;

  /// Asks for bytes of the request that the connection reads.
  void Hold(std::int64_t before, std::int64_t bytes) {
    connection_->HoldRequest(before, bytes,
                             [this](Held held) { held_.push_back(std::move(held)); });
    Run();
  }

  std::vector<Held> held_;  ///< What the asking has got.
};

TEST_F(RequestRoom, OneRequestMayExceedTheLimitAndTheOthersWait) {
  Held others = address_->requests.Hold(kLimit);
  const Held turn = address_->requests.TakeTurn();
  Hold(0, 100'000);
  EXPECT_THAT(held_, IsEmpty());
  others.reset();
  Run();
  ASSERT_THAT(held_, SizeIs(1));
  EXPECT_NE(held_[0], nullptr);
  EXPECT_EQ(address_->requests.bytes(), 100'000);
}

TEST_F(RequestRoom, TheTurnIsTheNextOnesWhenItsBytesAreFree) {
  const Held others = address_->requests.Hold(kLimit);
  Hold(0, 100'000);
  Hold(100'000, 100'000);
  ASSERT_THAT(held_, SizeIs(2)) << "one request at a time may exceed the limit";
  connection_->BeginReading();  // The next request.
  Hold(0, 100'000);
  EXPECT_THAT(held_, SizeIs(2));
  held_[0] = nullptr;
  Run();
  EXPECT_THAT(held_, SizeIs(2)) << "bytes of the first request are held";
  held_[1] = nullptr;
  Run();
  ASSERT_THAT(held_, SizeIs(3));
  EXPECT_NE(held_[2], nullptr);
}

TEST_F(RequestRoom, AShortRequestHasTheReserve) {
  address_->requests = HeldBytes(kLimit, /*all=*/nullptr, /*reserve=*/kLongBytes);
  const Held others = address_->requests.Hold(3 * kLimit);
  const Held turn = address_->requests.TakeTurn();
  Hold(0, kLongBytes);
  EXPECT_THAT(held_, SizeIs(1));
}

TEST_F(RequestRoom, ALongRequestWaitsBehindThoseThatWait) {
  Held others = address_->requests.Hold(kLimit - 100'000);
  const Held turn = address_->requests.TakeTurn();
  int woken = 0;
  const auto wake = std::make_shared<HeldBytes::Wake>([&] {
    ++woken;
    return true;
  });
  address_->requests.Wait(0, 200'000, wake, /*is_first=*/false);
  Hold(0, 100'000);
  EXPECT_THAT(held_, IsEmpty()) << "although it would have room";
  others.reset();
  Run();
  EXPECT_EQ(woken, 1);
  address_->requests.WakeNext();
  Run();
  EXPECT_THAT(held_, SizeIs(1));
}

TEST_F(RequestRoom, ARequestWithTheTurnDoesNotWaitBehindThoseThatWaitForIt) {
  const Held others = address_->requests.Hold(kLimit);
  Hold(0, kLongBytes);
  const auto wake = std::make_shared<HeldBytes::Wake>([] { return true; });
  address_->requests.Wait(0, 200'000, wake, /*is_first=*/false);
  Hold(kLongBytes, kLongBytes);
  EXPECT_THAT(held_, SizeIs(2));
}

TEST_F(RequestRoom, IsNotWaitedForInAClosedConnection) {
  const Held others = address_->requests.Hold(kLimit);
  const Held turn = address_->requests.TakeTurn();
  Hold(0, 100'000);
  connection_->Close();
  Run();
  EXPECT_THAT(held_, ElementsAre(nullptr));
}

TEST_F(RequestRoom, IsRefusedIfAllAddressesHaveNone) {
  const HeldBytes all(50'000);
  address_->requests = HeldBytes(kLimit, &all);
  Hold(0, 100'000);
  EXPECT_THAT(held_, ElementsAre(nullptr));
}

TEST_F(FlowControl, WritesRepliesInOrderAndReportsEach) {
  connection_->Start();
  Request("ab");
  Respond(1, "B1", /*is_last=*/false);
  Respond(0, "A");
  Respond(1, "B2");
  EXPECT_THAT(written_, IsEmpty());
  EXPECT_EQ(Take(), "B1");
  EXPECT_THAT(written_, ElementsAre("B1"));
  EXPECT_EQ(Take(), "A");
  EXPECT_EQ(Take(), "B2");
  EXPECT_THAT(written_, ElementsAre("B1", "A", "B2"));
  EXPECT_EQ(Take(), "") << "nothing else is written";
}

TEST_F(FlowControl, AReplyMayFollowOnceTheOneBeforeIsWritten) {
  connection_->Start();
  Request("a");
  const auto reply = [&](const std::string& bytes, bool is_last, std::function<void()> written) {
    requests_[0]->Send({bytes, nullptr, is_last, std::move(written)});
  };
  reply("A1", /*is_last=*/false,
        [&] { reply("A2", /*is_last=*/false, [&] { reply("A3", /*is_last=*/true, {}); }); });
  Run();
  EXPECT_EQ(Take(), "A1");
  EXPECT_EQ(Take(), "A2");
  EXPECT_EQ(Take(), "A3");
  EXPECT_EQ(Take(), "");
}

TEST_F(FlowControl, ClosesWhenEveryReplyIsWritten) {
  connection_->Start();
  Request("ab");
  connection_->CloseWhenDone();
  Respond(0, "A");
  EXPECT_EQ(Take(), "A");
  EXPECT_FALSE(stream_->is_shut_down()) << "a request is in flight";
  Respond(1, "B");
  EXPECT_FALSE(stream_->is_shut_down()) << "its reply is not written";
  EXPECT_EQ(Take(), "B");
  EXPECT_TRUE(stream_->is_shut_down());
  stream_->Send(std::string(100'000, 'x'));
  Run();
  EXPECT_THAT(requests_, SizeIs(2)) << "no further request is handled";
  EXPECT_EQ(stream_->unread(), 0U) << "but the bytes are read";
  EXPECT_FALSE(stream_->is_closed());
  stream_->HangUp();
  Run();
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_THAT(cancelled_, IsEmpty());
}

TEST_F(FlowControl, ClosesByItselfIfTheClientDoesNot) {
  connection_->Start();
  connection_->CloseWhenDone();
  Run();
  EXPECT_TRUE(stream_->is_shut_down());
  EXPECT_FALSE(stream_->is_closed());
  RunFor(kPatience);
  EXPECT_TRUE(stream_->is_closed());
}

TEST_F(FlowControl, ARefusedClientGetsAReasonAndIsNotRead) {
  stream_->Send("abc");
  connection_->Refuse({503, "full", "No room.", ""});
  Run();
  EXPECT_EQ(stream_->unread(), 3U);
  EXPECT_EQ(Take(), "No room.");
  EXPECT_TRUE(stream_->is_shut_down());
  EXPECT_EQ(stream_->unread(), 0U) << "the bytes are dropped";
  EXPECT_THAT(requests_, IsEmpty());
  stream_->HangUp();
  Run();
  EXPECT_TRUE(stream_->is_closed());
}

TEST_F(FlowControl, CancelsTheRequestsOfAClientThatLeft) {
  connection_->Start();
  Request("abc");
  EXPECT_TRUE(requests_[0]->Admitted());
  EXPECT_TRUE(requests_[1]->Admitted());
  stream_->HangUp();
  RunFor(kPatience);
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_THAT(cancelled_, UnorderedElementsAre(requests_[0], requests_[1]));
  EXPECT_TRUE(requests_[0]->has_left());
  EXPECT_FALSE(requests_[2]->Admitted()) << "the service gets it when the client has left";
  Respond(0, "A");
  EXPECT_EQ(Take(), "");
  EXPECT_THAT(written_, IsEmpty());
}

TEST_F(FlowControl, ForgetsTheRepliesOfAClientThatLeft) {
  connection_->Start();
  Request("ab");
  Respond(0, "A");
  Respond(1, "B");
  stream_->HangUp();
  Run();
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_THAT(written_, IsEmpty());
  EXPECT_EQ(all_replies_.bytes(), 0);
}

TEST_F(FlowControl, NoticesThatAClientLeftWhileReadingIsPaused) {
  connection_->Start();
  Request("abcde");
  stream_->HangUp();
  Run();
  EXPECT_FALSE(stream_->is_closed()) << "the stream is polled only from time to time";
  RunFor(kPatience);
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_EQ(stream_->unread(), 2U);
}

TEST_F(FlowControl, AClientThatSendsNoMoreGetsItsReplies) {
  connection_->Start();
  Request("a");
  Respond(0, "A");
  connection_->EndInput();
  Run();
  EXPECT_FALSE(stream_->is_closed());
  EXPECT_EQ(Take(), "A");
  EXPECT_TRUE(stream_->is_closed());
}

TEST_F(FlowControl, AClientThatSendsNoMoreAndWaitsHasLeft) {
  connection_->Start();
  Request("a");
  connection_->EndInput();
  Run();
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_TRUE(requests_[0]->has_left());
}

TEST_F(FlowControl, AReplyMayEndTheConnection) {
  connection_->Start();
  Request("ab");
  requests_[0]->Send({.bytes = "A", .held = nullptr, .ends_connection = true});
  Run();
  Request("c");
  EXPECT_THAT(requests_, SizeIs(2)) << "no further request is taken";
  EXPECT_EQ(Take(), "A");
  EXPECT_FALSE(stream_->is_shut_down()) << "a request is in flight";
  Respond(1, "B");
  EXPECT_EQ(Take(), "B");
  EXPECT_TRUE(stream_->is_shut_down());
}

class IdleFlowControl : public FlowControl {
 protected:
  IdleFlowControl() : FlowControl(milliseconds(50)) {}
};

TEST_F(IdleFlowControl, AClientWithoutARequestIsIdle) {
  connection_->Start();
  RunFor(kPatience);
  EXPECT_TRUE(stream_->is_closed());
}

TEST_F(IdleFlowControl, AClientThatDoesNotReadIsIdleButOneThatWaitsIsNot) {
  connection_->Start();
  Request("a");
  RunFor(milliseconds(300));
  EXPECT_FALSE(stream_->is_closed()) << "its request is being computed";
  Respond(0, "A");
  RunFor(kPatience);
  EXPECT_TRUE(stream_->is_closed()) << "its reply is not read";
  EXPECT_THAT(written_, IsEmpty());
}

class SlowFlowControl : public FlowControl {
 protected:
  SlowFlowControl() : FlowControl(kPatience, milliseconds(50)) {}
};

TEST_F(SlowFlowControl, ARequestThatTakesTooLongToArriveEndsTheConnection) {
  connection_->Start();
  Request("a");
  stream_->Send({kSlow});
  RunFor(milliseconds(300));
  EXPECT_FALSE(stream_->is_shut_down()) << "request a is in flight";
  EXPECT_THAT(Take(), HasSubstr("did not arrive within 50 ms"));
  Request("b");
  EXPECT_THAT(requests_, SizeIs(1)) << "no further request is taken";
  EXPECT_EQ(counters_.requests_in_flight, 1);
  Respond(0, "A");
  EXPECT_EQ(Take(), "A");
  EXPECT_TRUE(stream_->is_shut_down());
  stream_->HangUp();
  Run();
  EXPECT_TRUE(stream_->is_closed());
  EXPECT_THAT(counters_.refusals(), ElementsAre(Pair("request_timeout", 1)));
}

TEST_F(SlowFlowControl, ATrickleOfBytesDoesNotExtendTheTime) {
  connection_->Start();
  const Clock::time_point begin = Clock::now();
  while (!stream_->is_shut_down() && Clock::now() - begin < kPatience) {
    stream_->Send({kSlow});
    RunFor(milliseconds(5));
    Take();
  }
  EXPECT_TRUE(stream_->is_shut_down());
  stream_->HangUp();
  Run();
  EXPECT_TRUE(stream_->is_closed()) << "the read under way shows that the client left";
}

TEST_F(FlowControl, AHeaderMayHaveAShorterTimeThanTheRequest) {
  connection_->Start();
  Request("a");
  stream_->Send({kSlow});
  Run();
  connection_->BeginReading(milliseconds(50));
  RunFor(milliseconds(300));
  EXPECT_THAT(Take(), HasSubstr("header of the request did not arrive within 50 ms"));
}

TEST_F(FlowControl, OnlyTheHeaderHasTheShorterTime) {
  connection_->Start();
  Request("a");
  stream_->Send({kSlow});
  Run();
  connection_->BeginReading(milliseconds(50));
  connection_->HeaderRead();
  RunFor(milliseconds(300));
  Request("b");
  EXPECT_THAT(requests_, SizeIs(2));
}

TEST_F(SlowFlowControl, LargeRequestsHaveMoreTime) {
  connection_->Start();
  stream_->Send(std::string(20'000'000, kSlow));  // Minutes more.
  Run();
  RunFor(milliseconds(300));
  Request("a");
  EXPECT_THAT(requests_, SizeIs(1));
  EXPECT_FALSE(stream_->is_shut_down());
}

TEST_F(SlowFlowControl, TheTimeBetweenRequestsDoesNotCount) {
  connection_->Start();
  const Clock::time_point begin = Clock::now();
  Request("a");
  EXPECT_GE(requests_[0]->arrived(), begin);
  EXPECT_LE(requests_[0]->arrived(), Clock::now());
  Respond(0, "A");
  EXPECT_EQ(Take(), "A");
  RunFor(milliseconds(300));
  Request("b");
  EXPECT_THAT(requests_, SizeIs(2));
  EXPECT_FALSE(stream_->is_shut_down());
}

TEST_F(SlowFlowControl, ARequestArrivesAtItsFirstByte) {
  connection_->Start();
  stream_->Send({kSlow});
  Run();
  const Clock::time_point first_byte = Clock::now();
  RunFor(milliseconds(20));
  Request("a");
  ASSERT_THAT(requests_, SizeIs(1));
  EXPECT_LE(requests_[0]->arrived(), first_byte);
}

}  // namespace flow_control_test
}  // namespace scorecast::coordinator
