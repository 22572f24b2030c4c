#include "proto/mpi/communicator.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "proto/base/check.h"
#include "proto/base/error.h"
#include "proto/base/fault_text.h"

namespace scorecast::proto {
namespace {

/// Upper bound on the bytes of one broadcast message. Its count must fit an `int`.
constexpr std::size_t kMessageBytes = std::size_t{1} << 26;

int Count(std::size_t n) {
  Check(n <= INT_MAX, "an MPI message's count fits int");
  return static_cast<int>(n);
}

}  // namespace

Communicator Communicator::World() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return Communicator(comm);
}

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL) {
    MPI_Comm_free(&comm_);
  }
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

void Communicator::Broadcast(std::span<std::byte> bytes) const {
  while (size_ > 1 && !bytes.empty()) {
    const std::span<std::byte> part = bytes.first(std::min(bytes.size(), kMessageBytes));
    MPI_Bcast(part.data(), Count(part.size()), MPI_BYTE, 0, comm_);
    bytes = bytes.subspan(part.size());
  }
}

void Communicator::GatherToRoot(std::span<const std::byte> mine,
                                std::span<const std::size_t> counts,
                                std::span<std::byte> all) const {
  Check(counts.size() == static_cast<std::size_t>(size_), "one count a rank");
  std::vector<int> mpi_counts;
  std::vector<int> offsets;
  std::size_t total = 0;
  for (const std::size_t count : counts) {
    mpi_counts.push_back(Count(count));
    offsets.push_back(Count(total));
    total += count;
  }
  Count(total);
  Check(
      mine.size() == counts[static_cast<std::size_t>(rank_)] && (!is_root() || all.size() == total),
      "gathered bytes are as many as their counts");
  if (size_ == 1) {
    std::copy(mine.begin(), mine.end(), all.begin());
    return;
  }
  MPI_Gatherv(mine.data(), Count(mine.size()), MPI_BYTE, all.data(), mpi_counts.data(),
              offsets.data(), MPI_BYTE, 0, comm_);
}

std::vector<int> Communicator::AllGather(int value) const {
  std::vector<int> all(static_cast<std::size_t>(size_), value);
  if (size_ > 1) {
    MPI_Allgather(&value, 1, MPI_INT, all.data(), 1, MPI_INT, comm_);
  }
  return all;
}

int Communicator::Min(int value) const {
  const std::vector<int> all = AllGather(value);
  return *std::min_element(all.begin(), all.end());
}

std::vector<std::string> Communicator::AllGather(const std::string& text) const {
  const std::vector<int> sizes = AllGather(Count(text.size()));
  std::vector<int> offsets(sizes.size());
  std::size_t total = 0;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    offsets[r] = Count(total);
    total += static_cast<std::size_t>(sizes[r]);
  }
  std::string all(total, ' ');
  if (size_ > 1) {
    MPI_Allgatherv(text.data(), Count(text.size()), MPI_CHAR, all.data(), sizes.data(),
                   offsets.data(), MPI_CHAR, comm_);
  } else {
    all = text;
  }
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(sizes[r])));
  }
  return texts;
}

Communicator Communicator::OnThisHost() const {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  return Communicator(host);
}

Communicator Communicator::Split(int number) const {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(comm_, number, rank_, &part);
  return Communicator(part);
}

MPI_Comm Communicator::Duplicate() const {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(comm_, &comm);
  return comm;
}

void StartupPhase(const Communicator& group, const std::function<void()>& phase) {
  std::optional<std::string> fault;
  try {
    phase();
  } catch (const std::exception& e) {
    fault = FaultText(e);
  }
  const std::vector<int> sizes =
      group.AllGather(fault ? static_cast<int>(std::max<std::size_t>(fault->size(), 1)) : 0);
  const auto first = std::find_if(sizes.begin(), sizes.end(), [](int size) { return size > 0; });
  if (first == sizes.end()) {
    return;
  }
  // The first rank that failed sends its message to the root, and the root sends it to all ranks.
  const int failed_rank = static_cast<int>(first - sizes.begin());
  std::vector<std::size_t> counts(sizes.size(), 0);
  counts[static_cast<std::size_t>(failed_rank)] = static_cast<std::size_t>(*first);
  std::string message(static_cast<std::size_t>(*first), ' ');
  std::string mine = group.rank() == failed_rank ? *fault : std::string();
  mine.resize(group.rank() == failed_rank ? static_cast<std::size_t>(*first) : 0, ' ');
  group.GatherToRoot(std::as_bytes(std::span(mine)), counts,
                     std::as_writable_bytes(std::span(message)));
  group.Broadcast(std::as_writable_bytes(std::span(message)));
  // Names the rank, because a fault that rank 0 does not have may concern only that rank's host.
  throw StartupError(failed_rank == 0 ? message
                                      : "rank " + std::to_string(failed_rank) + ": " + message);
}

}  // namespace scorecast::proto
