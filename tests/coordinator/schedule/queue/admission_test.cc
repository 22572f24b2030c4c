// Which jobs are refused, and whether those come in that come back when they were told to.

#include "coordinator/schedule/queue/admission.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/coordinator/schedule/queue/shared_server.h"

namespace scorecast::coordinator {
namespace admission_test {

constexpr AdmissionLimits kUnbounded = {
    .max_jobs = 1U << 20U, .max_tokens = std::int64_t{1} << 40, .max_wait_seconds = {}};

AdmissionLimits WithWait(double seconds) {
  AdmissionLimits limits = kUnbounded;
  limits.max_wait_seconds = seconds;
  return limits;
}

const ClientId kClient = {"10.0.0.1", 1};
constexpr Clock::time_point kNow{std::chrono::hours(1)};

NewJob JobOf(const ClientId& client, double seconds, std::uint64_t digest = 1) {
  return {.client = client,
          .digest = digest,
          .size = {.tokens = 1, .bytes = 4},
          .forecast = {.seconds = seconds, .first_seconds = std::min(seconds, 0.2), .weight = 1},
          .deadline = {}};
}

/// A queue with work of the client itself.
QueueState Behind(double seconds) {
  QueueState queue;
  queue.all = queue.of_network = queue.of_address = queue.of_connection = {1, {1, 4}};
  queue.forecast.own_seconds = seconds;
  return queue;
}

TEST(Admission, AJobThatWouldWaitTooLongIsToldWhenItWouldNot) {
  Admission admission(WithWait(30));
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), Behind(29.9), kNow));
  const auto fault = admission.Fault(JobOf(kClient, 1), Behind(42.5), kNow);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 429);
  EXPECT_EQ(fault->reason, "wait_too_long");
  EXPECT_EQ(fault->message, "The request would have to wait too long: 42.5 s > 30.0 s.");
  EXPECT_EQ(fault->retry_after_seconds, 13) << "12.5, rounded up";
}

TEST(Admission, TheTokensOfAClientMayHaveABoundOfTheirOwn) {
  Admission admission(kUnbounded);
  NewJob job = JobOf(kClient, 1);
  job.size.tokens = 6;
  job.max_client_tokens = 10;
  QueueState queue = Behind(1);
  queue.all = {9, {900, 3600}};
  queue.of_address = {2, {4, 16}};
  EXPECT_FALSE(admission.Fault(job, queue, kNow));
  queue.of_address.size.tokens = 5;
  for (int again = 0; again < 2; ++again) {
    const auto fault = admission.Fault(job, queue, kNow + again * std::chrono::seconds(5));
    ASSERT_TRUE(fault) << "a promise does not exceed it";
    EXPECT_EQ(fault->code, 429);
    EXPECT_EQ(fault->reason, "client_queue_full");
    EXPECT_EQ(fault->message, "Too many tokens of this client wait: 5 + 6 > 10.");
    EXPECT_GE(fault->retry_after_seconds, 1);
  }
  job.size.tokens = 11;
  queue.of_address = {};
  EXPECT_FALSE(admission.Fault(job, queue, kNow)) << "no other waits";
}

TEST(Admission, NoWaitIsTooLongWithoutALimit) {
  for (const AdmissionLimits& limits :
       {kUnbounded, WithWait(std::numeric_limits<double>::infinity())}) {
    Admission admission(limits);
    EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), Behind(1e6), kNow));
  }
}

TEST(Admission, AJobMayHaveAShorterLimitOfItsOwn) {
  Admission admission(WithWait(30));
  NewJob job = JobOf(kClient, 1);
  job.max_wait_seconds = 10;
  EXPECT_FALSE(admission.Fault(job, Behind(9.9), kNow));
  const auto fault = admission.Fault(job, Behind(12.5), kNow);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->message, "The request would have to wait too long: 12.5 s > 10.0 s.");
  EXPECT_EQ(fault->retry_after_seconds, 3) << "2.5, rounded up";
  EXPECT_TRUE(admission.Fault(job, Behind(10.1), kNow + std::chrono::seconds(3)))
      << "no promise makes it wait longer";
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), Behind(12.5), kNow)) << "others may wait longer";
  job.max_wait_seconds = 40;
  EXPECT_TRUE(admission.Fault(job, Behind(35), kNow)) << "the server's limit is shorter";
  EXPECT_FALSE(Admission(kUnbounded).Fault(job, Behind(100), kNow)) << "nothing is predicted";
}

TEST(Admission, AJobThatWouldMissItsDeadlineIsRefused) {
  Admission admission(WithWait(std::numeric_limits<double>::infinity()));
  NewJob job = JobOf(kClient, 2);
  job.deadline = kNow + std::chrono::seconds(10);
  EXPECT_FALSE(admission.Fault(job, Behind(7.9), kNow));
  const auto fault = admission.Fault(job, Behind(12.2), kNow);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 429);
  EXPECT_EQ(fault->reason, "deadline_too_close");
  EXPECT_EQ(fault->param, "timeout_ms");
  EXPECT_EQ(fault->message,
            "The request would be computed in 14.2 s, but its deadline is in 10.0 s.");
  EXPECT_EQ(fault->retry_after_seconds, 5);
  job.deadline = kNow + std::chrono::milliseconds(2500);
  EXPECT_EQ(admission.Fault(job, Behind(0.75), kNow)->message,
            "The request would be computed in 2.8 s, but its deadline is in 2.5 s.");
  NewJob short_job = JobOf(kClient, 0.001);
  short_job.deadline = kNow + std::chrono::milliseconds(2);
  EXPECT_EQ(admission.Fault(short_job, Behind(0.75), kNow)->message,
            "The request would be computed in 751.0 ms, but its deadline is in 2.0 ms.");
}

TEST(Admission, ADeadlineThatNoTimeWouldMeetIsNotAReason) {
  Admission admission(WithWait(30));
  NewJob job = JobOf(kClient, 2);
  job.deadline = kNow + std::chrono::seconds(1);
  EXPECT_FALSE(admission.Fault(job, Behind(5), kNow));
}

TEST(Admission, DeadlinesAreNotPredictedWithoutALimit) {
  Admission admission(kUnbounded);
  NewJob job = JobOf(kClient, 2);
  job.deadline = kNow + std::chrono::seconds(10);
  EXPECT_FALSE(admission.Fault(job, Behind(100), kNow));
}

TEST(Admission, RefusedJobsAreSpreadAndHaveRoomWhenTheyComeBack) {
  Admission admission(WithWait(10));
  EXPECT_EQ(admission.Fault(JobOf(kClient, 3, 1), Behind(12), kNow)->retry_after_seconds, 2);
  EXPECT_EQ(admission.Fault(JobOf(kClient, 3, 2), Behind(12), kNow)->retry_after_seconds, 5);
  EXPECT_EQ(admission.Fault(JobOf(kClient, 3, 3), Behind(12), kNow)->retry_after_seconds, 8);
  // Two seconds later there is room for the first of them, and for no other.
  const auto later = kNow + std::chrono::seconds(2);
  EXPECT_EQ(admission.Fault(JobOf(kClient, 3, 4), Behind(9), later)->retry_after_seconds, 9);
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 3, 1), Behind(10), later));
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 3, 5), Behind(5), later)) << "half of the limit";
}

TEST(Admission, APromiseIsKeptAlsoIfOthersHaveCome) {
  Admission admission(WithWait(10));
  const auto told = admission.Fault(JobOf(kClient, 3), Behind(12), kNow)->retry_after_seconds;
  EXPECT_EQ(told, 2);
  const auto later = kNow + std::chrono::seconds(2);
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 3), Behind(19), later));
  EXPECT_TRUE(admission.Fault(JobOf(kClient, 3), Behind(19), later)) << "the promise is used up";
}

/// A queue with this many jobs of the client's connection, of its address, and of all, which are in
/// one network.
QueueState WithJobs(std::size_t of_connection, std::size_t of_address, std::size_t all) {
  const auto jobs = [](std::size_t count) {
    return WaitingJobs{count,
                       {static_cast<std::int64_t>(count), 4 * static_cast<std::int64_t>(count)}};
  };
  QueueState queue;
  queue.all = queue.of_network = jobs(all);
  queue.of_address = jobs(of_address);
  queue.of_connection = jobs(of_connection);
  return queue;
}

TEST(Admission, SmallClientsHaveRoomOfTheirOwn) {
  Admission admission({.max_jobs = 1000, .max_tokens = 1 << 20, .max_wait_seconds = {}});
  const auto is_admitted = [&](const QueueState& queue) {
    return !admission.Fault(JobOf(kClient, 1), queue, kNow);
  };
  EXPECT_TRUE(is_admitted(WithJobs(999, 999, 999)));
  EXPECT_FALSE(is_admitted(WithJobs(1000, 1000, 1000)));
  // A connection of an address that fills the queue: a sixteenth of the 500 for connections.
  EXPECT_TRUE(is_admitted(WithJobs(0, 1000, 1000)));
  EXPECT_TRUE(is_admitted(WithJobs(30, 1000, 1000)));
  EXPECT_FALSE(is_admitted(WithJobs(31, 1000, 1000)));
  EXPECT_FALSE(is_admitted(WithJobs(0, 1000, 1500)));
  // An address: a sixteenth of the 1000, and of what is left of them.
  EXPECT_TRUE(is_admitted(WithJobs(61, 61, 1000)));
  EXPECT_FALSE(is_admitted(WithJobs(62, 62, 1000)));
  EXPECT_TRUE(is_admitted(WithJobs(5, 5, 1900)));
  EXPECT_FALSE(is_admitted(WithJobs(6, 6, 1900)));
  EXPECT_TRUE(is_admitted(WithJobs(0, 0, 1999)));
  EXPECT_FALSE(is_admitted(WithJobs(0, 0, 2000)));
}

TEST(Admission, ANetworkWithFewJobsHasRoomBesideManyAddressesOfAnother) {
  Admission admission({.max_jobs = 1000, .max_tokens = 1 << 20, .max_wait_seconds = {}});
  QueueState queue = WithJobs(0, 0, 2000);
  EXPECT_TRUE(admission.Fault(JobOf(kClient, 1), queue, kNow)) << "an address of the full network";
  queue.of_network = {};
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), queue, kNow));
  queue = WithJobs(0, 0, 2500);
  queue.of_network = {};
  EXPECT_TRUE(admission.Fault(JobOf(kClient, 1), queue, kNow));
}

TEST(Admission, TheGreatestBoundsRefuseNoJobOfAnyNetwork) {
  Admission admission({.max_jobs = std::numeric_limits<std::size_t>::max(),
                       .max_tokens = std::numeric_limits<std::int64_t>::max(),
                       .max_wait_seconds = {}});
  QueueState queue = Behind(1);
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), queue, kNow)) << "a job of its connection waits";
  queue.of_connection = {};
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), queue, kNow)) << "of another connection";
  queue.of_address = {};
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), queue, kNow)) << "of another address";
  queue.of_network = {};
  EXPECT_FALSE(admission.Fault(JobOf(kClient, 1), queue, kNow)) << "of another network";
}

TEST(Admission, AFullQueueTellsWhenEnoughOfItHasBegun) {
  Admission admission({.max_jobs = 10, .max_tokens = 1 << 20, .max_wait_seconds = {}});
  QueueState queue = WithJobs(10, 10, 10);
  queue.forecast.own_seconds = 40;
  queue.forecast.addresses = {{.seconds = 100, .weighted_seconds = 100, .ahead = 0}};
  const auto fault = admission.Fault(JobOf(kClient, 4), queue, kNow);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, "queue_full");
  EXPECT_EQ(fault->retry_after_seconds, 14) << "a tenth of the 140 s";
  EXPECT_EQ(admission.Fault(JobOf(kClient, 4), queue, kNow)->retry_after_seconds, 14 + 2 * 4)
      << "two addresses share the time";
}

/// Clients that send to a SharedServer, with a virtual clock.
class Load {
 public:
  explicit Load(const AdmissionLimits& limits) : admission_(limits) {}

  struct Counts {
    int done = 0;
    int refused = 0;
    int retries = 0;           ///< Requests that came when they were told to.
    int admitted_retries = 0;  ///< Those of them that were admitted.
    double longest_wait = 0;
    std::int64_t longest_told = 0;
  };

  /// Keeps `requests` requests in flight, from about `begin` on. A refused one comes back when it
  /// was told to, and counts as in flight meanwhile.
  void AddClosedLoop(const ClientId& client, int requests, double seconds, double begin = 0) {
    Sender& sender = senders_[client];
    sender.seconds = seconds;
    sender.sends_again = true;
    for (int i = 0; i < requests; ++i) {
      Send(begin + std::uniform_real_distribution(0.0, 0.5)(random_), client);
    }
  }

  /// Sends requests at a rate. Refused ones never come back.
  void AddOpenLoop(const ClientId& client, double rate, double seconds, double end) {
    senders_[client].seconds = seconds;
    for (int i = 0; i < end * rate; ++i) {
      Send(i / rate, client);
    }
  }

  void RunUntil(double end) {
    while (server_.now() < end) {
      while (!arrivals_.empty() && arrivals_.top().time <= server_.now()) {
        const Arrival arrival = arrivals_.top();
        arrivals_.pop();
        Arrive(arrival);
      }
      if (!server_.is_idle()) {
        if (const auto done = server_.Work()) {
          Finish(*done);
        }
        continue;
      }
      if (arrivals_.empty()) {
        return;
      }
      idle_seconds += arrivals_.top().time - server_.now();
      server_.WaitUntil(arrivals_.top().time);
    }
  }

  const Counts& Of(const ClientId& client) { return senders_[client].counts; }
  Counts All() const {
    Counts all;
    for (const auto& [client, sender] : senders_) {
      all.done += sender.counts.done;
      all.refused += sender.counts.refused;
      all.retries += sender.counts.retries;
      all.admitted_retries += sender.counts.admitted_retries;
      all.longest_wait = std::max(all.longest_wait, sender.counts.longest_wait);
      all.longest_told = std::max(all.longest_told, sender.counts.longest_told);
    }
    return all;
  }

  double idle_seconds = 0;

 private:
  struct Sender {
    double seconds = 0;
    bool sends_again = false;
    Counts counts;
  };
  struct Arrival {
    double time = 0;
    std::size_t number = 0;
    ClientId client;
    bool is_retry = false;

    bool operator<(const Arrival& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };

  void Send(double time, const ClientId& client) { arrivals_.push({time, next_++, client}); }

  void Arrive(const Arrival& arrival) {
    Sender& sender = senders_[arrival.client];
    const auto fault = admission_.Fault(JobOf(arrival.client, sender.seconds, arrival.number),
                                        server_.StateFor(arrival.client, 1), server_.time());
    sender.counts.retries += arrival.is_retry ? 1 : 0;
    if (!fault) {
      sender.counts.admitted_retries += arrival.is_retry ? 1 : 0;
      server_.Add(arrival.number, arrival.client, sender.seconds);
      admitted_[arrival.number] = server_.now();
      return;
    }
    ++sender.counts.refused;
    sender.counts.longest_told =
        std::max(sender.counts.longest_told, fault->retry_after_seconds.value());
    if (sender.sends_again) {
      constexpr double kLatency = 0.005;
      const double told = static_cast<double>(*fault->retry_after_seconds);
      arrivals_.push(
          {server_.now() + told + kLatency, arrival.number, arrival.client, /*is_retry=*/true});
    }
  }

  void Finish(const SharedServer::Done& done) {
    Sender& sender = senders_[done.client];
    ++sender.counts.done;
    sender.counts.longest_wait =
        std::max(sender.counts.longest_wait, *server_.Began(done.job) - admitted_[done.job]);
    if (sender.sends_again) {
      Send(server_.now(), done.client);
    }
  }

  std::mt19937 random_{1};
  Admission admission_;
  SharedServer server_;
  std::map<ClientId, Sender> senders_;
  std::priority_queue<Arrival> arrivals_;
  std::map<std::size_t, double> admitted_;
  std::size_t next_ = 0;
};

/// The part of the requests that came back when they were told to, and were admitted.
void ExpectRetriesAdmitted(const Load::Counts& counts) {
  std::cout << counts.done << " done, " << counts.refused << " refused, " << counts.admitted_retries
            << " of " << counts.retries << " retries admitted, longest wait " << counts.longest_wait
            << " s, told up to " << counts.longest_told << " s\n";
  EXPECT_GT(counts.retries, 20);
  EXPECT_GE(counts.admitted_retries, 0.95 * counts.retries);
}

TEST(AdmissionLoad, OneHogIsServedThroughItsRetries) {
  Load load(WithWait(5));
  load.AddClosedLoop(kClient, 256, 0.05);
  load.RunUntil(120);
  ExpectRetriesAdmitted(load.All());
  EXPECT_LT(load.idle_seconds, 0.1);
  EXPECT_LT(load.All().longest_wait, 10);
}

TEST(AdmissionLoad, SixteenHogsAndAPoliteClient) {
  for (const bool is_one_address : {false, true}) {
    Load load({.max_jobs = 1024, .max_tokens = 1 << 20, .max_wait_seconds = 10});
    for (std::uint64_t hog = 0; hog < 16; ++hog) {
      const std::string address = is_one_address ? "10.0.0.1" : "10.0.1." + std::to_string(hog);
      load.AddClosedLoop({address, hog}, 256, 0.05);
    }
    const ClientId polite = {is_one_address ? "10.0.0.1" : "10.0.0.2", 77};
    load.AddClosedLoop(polite, 1, 0.05, /*begin=*/3);
    load.RunUntil(200);
    ExpectRetriesAdmitted(load.All());
    EXPECT_LT(load.idle_seconds, 0.1);
    EXPECT_EQ(load.Of(polite).refused, 0);
    EXPECT_GT(load.Of(polite).done, 0.9 * 197 / (17 * 0.05));
    // Promised waits are predicted to be at most 20 s. Then the others send more.
    EXPECT_LT(load.All().longest_wait, 30);
  }
}

TEST(AdmissionLoad, ManyConnectionsWithOneRequestEach) {
  Load load(WithWait(5));
  for (std::uint64_t connection = 0; connection < 300; ++connection) {
    load.AddClosedLoop({"10.0.0.1", connection}, 1, 0.05);
  }
  load.RunUntil(120);
  ExpectRetriesAdmitted(load.All());
  EXPECT_LT(load.idle_seconds, 0.1);
}

TEST(AdmissionLoad, AQueueThatIsFullByItsJobs) {
  Load load({.max_jobs = 64, .max_tokens = 1 << 20, .max_wait_seconds = {}});
  for (std::uint64_t hog = 0; hog < 4; ++hog) {
    load.AddClosedLoop({"10.0.1." + std::to_string(hog), hog}, 64, 0.05);
  }
  load.RunUntil(100);
  ExpectRetriesAdmitted(load.All());
}

TEST(AdmissionLoad, AnOverloadWhoseClientsNeverComeBackKeepsTheServerBusy) {
  Load load(WithWait(5));
  load.AddOpenLoop(kClient, 200, 0.05, 60);
  load.AddClosedLoop({"10.0.0.2", 1}, 1, 0.05, /*begin=*/10);
  load.RunUntil(60);
  EXPECT_LT(load.idle_seconds, 0.1);
  EXPECT_EQ(load.Of({"10.0.0.2", 1}).refused, 0);
  EXPECT_GT(load.Of({"10.0.0.2", 1}).done, 0.9 * 50 / (2 * 0.05));
  EXPECT_LE(load.Of(kClient).longest_wait, 10.5);
}

}  // namespace admission_test
}  // namespace scorecast::coordinator
