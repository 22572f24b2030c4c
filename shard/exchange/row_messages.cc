#include "shard/exchange/row_messages.h"

#include <algorithm>
#include <climits>

#include "proto/base/check.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

/// Seconds between two polls. Tasks of small models take less than a poll does.
constexpr double kPollPause = 20e-6;
/// Bytes of a message, unless one row has more. Open MPI sends so many over TCP at once. A larger
/// message begins with a question, and on a slow network question and answer wait behind rows that
/// are on their way in either direction, while nothing of this message is sent.
constexpr std::int64_t kMessageBytes = std::int64_t{60} << 10;
constexpr int kTag = 0;  // MPI keeps messages from one rank to another in order.

int Count(std::int64_t n) {
  proto::Check(0 <= n && n <= INT_MAX, "an MPI message's count fits int");
  return static_cast<int>(n);
}

/// Calls body(first byte, bytes) for each message of `rows` rows. Sender and receiver have the same
/// messages.
template <typename Body>
void ForEachMessage(std::int64_t rows, std::int64_t row_bytes, const Body& body) {
  const std::int64_t most = std::max(kMessageBytes / row_bytes, std::int64_t{1});
  for (std::int64_t first = 0; first < rows; first += most) {
    body(first * row_bytes, Count(std::min(most, rows - first) * row_bytes));
  }
}

}  // namespace

RowMessages::RowMessages(const proto::Communicator& group, int ranks_a_host, const RowSizes& sizes)
    : sizes_(sizes),
      ranks_(group.size()),
      ranks_a_host_(ranks_a_host),
      hosts_(group.size() / ranks_a_host),
      own_host_(group.rank() / ranks_a_host),
      lane_(group.rank() % ranks_a_host),
      sums_(static_cast<std::size_t>(hosts_)) {
  const std::int64_t bytes = (hosts_ - 1) * sizes.MostOwnRows(ranks_) * sizes.summand_bytes;
  proto::StartupPhase(group, [&] {
    received_ = AlignedBuffer<std::byte>(static_cast<std::size_t>(bytes));
    if (ranks_a_host > 1) {
      to_send_ = AlignedBuffer<std::byte>(static_cast<std::size_t>(bytes));
    }
  });
  comm_ = group.Duplicate();
}

RowMessages::~RowMessages() { MPI_Comm_free(&comm_); }

void RowMessages::Touch(std::int64_t rows, ThreadPool& pool) {
  const auto bytes = static_cast<std::size_t>((hosts_ - 1) * ((rows + ranks_ - 1) / ranks_) *
                                              sizes_.summand_bytes);
  for (AlignedBuffer<std::byte>* buffer : {&received_, &to_send_}) {
    TouchPages(buffer->span().first(std::min(bytes, buffer->size())), pool);
  }
}

void RowMessages::BeginReceiving(const RowSlices& owners) {
  const std::int64_t own_rows = OfLane(owners, own_host_).size();
  bytes_to_send_ = 0;
  std::byte* next = received_.data();
  for (int host = 0; host < hosts_; ++host) {
    if (host != own_host_) {
      Receive(next, own_rows, sizes_.summand_bytes, host, of_sums_);
      sums_[static_cast<std::size_t>(host)] = next;
      next += own_rows * sizes_.summand_bytes;
    }
  }
}

std::byte* RowMessages::RoomFor(std::int64_t rows) {
  std::byte* room = to_send_.data() + bytes_to_send_;
  bytes_to_send_ += rows * sizes_.summand_bytes;
  proto::Check(bytes_to_send_ <= static_cast<std::int64_t>(to_send_.size()),
               "sums for other hosts fit their buffer");
  return room;
}

void RowMessages::SendSums(int host, const std::byte* sums, std::int64_t rows) {
  Send(sums, rows, sizes_.summand_bytes, host, of_sums_);
}

void RowMessages::EndSums() { Wait(of_sums_); }

void RowMessages::BeginShare(const RowSlices& owners, std::span<const RowPlane> planes) {
  Requests& requests = of_shares_.emplace_back();
  for (const RowPlane& plane : planes) {
    if (plane.row_bytes == 0) {
      continue;
    }
    const auto at = [&plane](proto::Range rows) {
      return plane.data + rows.begin * plane.row_bytes;
    };
    const proto::Range own = OfLane(owners, own_host_);
    for (int host = 0; host < hosts_; ++host) {
      if (host != own_host_) {
        const proto::Range rows = OfLane(owners, host);
        Receive(at(rows), rows.size(), plane.row_bytes, host, requests);
      }
    }
    // Every host begins with the next one, so that not all send to the first at once.
    for (int step = 1; step < hosts_; ++step) {
      Send(at(own), own.size(), plane.row_bytes, (own_host_ + step) % hosts_, requests);
    }
  }
}

void RowMessages::EndShare() {
  proto::Check(!of_shares_.empty(), "a share that ends was begun");
  Wait(of_shares_.front());
  of_shares_.pop_front();
}

void RowMessages::Poll() {
  const double begin = MPI_Wtime();
  if (begin < next_poll_) {
    return;
  }
  Test(of_sums_);
  for (Requests& requests : of_shares_) {
    Test(requests);
  }
  const double end = MPI_Wtime();
  poll_seconds_ += end - begin;
  next_poll_ = end + kPollPause;
}

void RowMessages::Test(Requests& requests) {
  if (requests.empty()) {
    return;
  }
  int are_done = 0;
  MPI_Testall(static_cast<int>(requests.size()), requests.data(), &are_done, MPI_STATUSES_IGNORE);
  if (are_done != 0) {
    requests.clear();
  }
}

void RowMessages::Wait(Requests& requests) {
  if (!requests.empty()) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  }
}

void RowMessages::Send(const std::byte* rows, std::int64_t count, std::int64_t row_bytes, int host,
                       Requests& requests) {
  ForEachMessage(count, row_bytes, [&](std::int64_t at, int bytes) {
    MPI_Isend(rows + at, bytes, MPI_BYTE, RankOn(host), kTag, comm_,
              &requests.emplace_back(MPI_REQUEST_NULL));
  });
}

void RowMessages::Receive(std::byte* rows, std::int64_t count, std::int64_t row_bytes, int host,
                          Requests& requests) {
  ForEachMessage(count, row_bytes, [&](std::int64_t at, int bytes) {
    MPI_Irecv(rows + at, bytes, MPI_BYTE, RankOn(host), kTag, comm_,
              &requests.emplace_back(MPI_REQUEST_NULL));
  });
}

}  // namespace scorecast::shard
