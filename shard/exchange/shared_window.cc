#include "shard/exchange/shared_window.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string_view>

#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "proto/base/count.h"
#include "proto/base/error.h"

namespace scorecast::shard {
namespace {

constexpr std::size_t kCacheLine = 64;
/// About 0.3 ms. If each rank has a core, the others usually arrive sooner.
constexpr int kSpins = 10'000;
/// If ranks share cores, a rank that spins may take the core from the rank it waits for.
constexpr int kSpinsOversubscribed = 200;
/// A sleeping rank wakes this often to let MPI's messages make progress.
constexpr long kNapNanoseconds = 1'000'000;
/// Size to which the file of Open MPI's own messages may still grow, for each rank.
constexpr std::size_t kMessageFileBytes = std::size_t{4} << 20U;

std::size_t PageSize() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t WholePages(std::size_t bytes) {
  const std::size_t page = PageSize();
  return (bytes + page - 1) / page * page;
}

/// The address of a rank's segment in this process, from its first whole page on. Open MPI 4.1
/// begins segments inside a page, at the same place for all ranks because they map the same file.
std::byte* SegmentOf(MPI_Win window, int rank) {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  MPI_Win_shared_query(window, rank, &size, &unit, &base);
  const std::size_t inside = reinterpret_cast<std::uintptr_t>(base) % PageSize();
  return static_cast<std::byte*>(base) + (inside == 0 ? 0 : PageSize() - inside);
}

/// The directory of the window's file. Open MPI could report it through MPI_T, which takes 0.2 s to
/// start. If /dev/shm is not writable, Open MPI uses its session's directory.
std::string BackingDirectory() {
  const char* told = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return told != nullptr ? told : "/dev/shm";
}

/// The reason why there can be no window of so many bytes; empty if there can. Open MPI 4.1 notices
/// a lack of space only on the rank that makes the file, and leaves the others waiting. If space
/// runs out later, a rank dies of SIGBUS at the first page that is missing.
std::string Obstacle(std::size_t bytes, int ranks) {
  const std::string directory = BackingDirectory();
  struct statfs system {};
  if (access(directory.c_str(), W_OK) != 0 || statfs(directory.c_str(), &system) != 0) {
    return directory + " cannot be written";
  }
  if (system.f_type != TMPFS_MAGIC) {
    return directory + " is not in memory";  // A disk's file would be written to the disk.
  }
  // Open MPI asks for 5 % more than the window.
  const std::size_t wanted =
      bytes + bytes / 16 + static_cast<std::size_t>(ranks) * kMessageFileBytes;
  const std::size_t free =
      static_cast<std::size_t>(system.f_bavail) * static_cast<std::size_t>(system.f_bsize);
  if (free < wanted) {
    return directory + " has " + std::to_string(free >> 20U) + " MiB free, not " +
           std::to_string((wanted >> 20U) + 1);
  }
  return "";
}

/// Gives all ranks the text of rank 0.
std::string OfRoot(const proto::Communicator& group, std::string text) {
  text.resize(static_cast<std::size_t>(group.AllGather(static_cast<int>(text.size())).front()));
  group.Broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

std::string ErrorText(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

bool IsUnified(MPI_Win window) {
  int* model = nullptr;
  int is_set = 0;
  MPI_Win_get_attr(window, MPI_WIN_MODEL, static_cast<void*>(&model), &is_set);
  return is_set != 0 && *model == MPI_WIN_UNIFIED;
}

/// Whether mpirun was told that ranks which wait should leave their cores to others. Open MPI asks
/// for that if it sees more ranks than cores; it cannot see other jobs and containers.
bool ShouldYield() {
  const char* value = std::getenv("OMPI_MCA_mpi_yield_when_idle");
  return value != nullptr && std::string_view(value) == "1";
}

void SpinOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

using Word = std::uint32_t;

std::atomic_ref<Word> Atomic(Word& word) { return std::atomic_ref(word); }

/// Sleeps while `word` is `value`. Ends at WakeAll, or at the latest when a nap is over.
void SleepWhile(Word& word, Word value) {
  const timespec nap = {0, kNapNanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &nap, nullptr, 0);
}

void WakeAll(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

/// The barrier's state. It is zero at first, as the window is. Each word has its own cache line.
struct SharedWindow::Gate {
  alignas(kCacheLine) Word arrived;  // Ranks that have reached this barrier.
  alignas(kCacheLine) Word round;    // Barriers that all ranks have reached.
  alignas(kCacheLine) Word asleep;   // Ranks that want to be woken.
};

proto::Expected<std::unique_ptr<SharedWindow>, std::string> SharedWindow::Make(
    const proto::Communicator& group, std::size_t bytes_a_rank, std::size_t common_bytes) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t own = WholePages(bytes_a_rank);
  // The common bytes lie in rank 0's segment, behind its own. Each segment has one more page, so
  // that it can begin on a whole one.
  const std::size_t common = WholePages(common_bytes) + WholePages(sizeof(Gate));
  const std::size_t all = ranks * (own + PageSize()) + common;
  std::string obstacle = OfRoot(group, group.is_root() ? Obstacle(all, group.size()) : "");
  if (!obstacle.empty()) {
    return proto::Unexpected(std::move(obstacle));
  }

  MPI_Comm comm = group.Duplicate();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const int code = MPI_Win_allocate_shared(
      static_cast<MPI_Aint>(own + PageSize() + (group.is_root() ? common : 0)), 1, info, comm,
      static_cast<void*>(&base), &window);
  MPI_Info_free(&info);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);

  const std::vector<int> made = group.AllGather(code == MPI_SUCCESS ? 1 : 0);
  const auto number_made = static_cast<std::size_t>(std::count(made.begin(), made.end(), 1));
  if (number_made == 0) {
    MPI_Comm_free(&comm);
    return proto::Unexpected("MPI makes no shared window: " + OfRoot(group, ErrorText(code)));
  }
  if (number_made < ranks) {
    // MPI_Win_free is not called, because a window that some ranks lack cannot be freed.
    throw proto::StartupError("MPI made a shared window of " + std::to_string(all >> 20U) +
                              " MiB on " + proto::Count(number_made, "rank") + " of " +
                              std::to_string(ranks));
  }
  if (!IsUnified(window)) {
    MPI_Win_free(&window);
    MPI_Comm_free(&comm);
    return proto::Unexpected(std::string("MPI's shared windows are not of the unified model"));
  }
  std::unique_ptr<SharedWindow> result(new SharedWindow(comm, window));
  result->common_ = result->of(0) + own;
  result->gate_ = reinterpret_cast<Gate*>(result->common_ + WholePages(common_bytes));
  return result;
}

SharedWindow::SharedWindow(MPI_Comm comm, MPI_Win window) : comm_(comm), window_(window) {
  int ranks = 1;
  MPI_Comm_size(comm_, &ranks);
  const bool has_cores = ranks <= sysconf(_SC_NPROCESSORS_ONLN) && !ShouldYield();
  most_spins_ = has_cores ? kSpins : kSpinsOversubscribed;
  for (int r = 0; r < ranks; ++r) {
    bases_.push_back(SegmentOf(window_, r));
  }
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);  // MPI_Win_sync needs an epoch.
}

SharedWindow::~SharedWindow() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
  MPI_Comm_free(&comm_);
}

// MPI_Barrier is not used: on a machine with more work than cores, it takes twice as long if it
// yields, and longer still if mpirun did not tell it to yield.
void SharedWindow::Barrier() {
  MPI_Win_sync(window_);
  const Word round = Atomic(gate_->round).load();
  if (Atomic(gate_->arrived).fetch_add(1) + 1 == bases_.size()) {
    // This must come before the new round, which lets the others enter the next barrier.
    Atomic(gate_->arrived).store(0);
    Atomic(gate_->round).fetch_add(1);
    if (Atomic(gate_->asleep).load() != 0) {
      WakeAll(gate_->round);
    }
  } else {
    WaitForRound(round);
  }
  MPI_Win_sync(window_);
}

/// Returns when `round` is over.
void SharedWindow::WaitForRound(std::uint32_t round) {
  for (int i = 0; i < most_spins_; ++i) {
    if (Atomic(gate_->round).load() != round) {
      return;
    }
    SpinOnce();
  }
  // A rank counts itself as asleep and then looks at the round; the last rank ends the round and
  // then looks at the count. So at least one of them sees the other.
  Atomic(gate_->asleep).fetch_add(1);
  while (Atomic(gate_->round).load() == round) {
    // A message that this rank has sent may need this rank's help to leave, and the rank it waits
    // for may be waiting for that message.
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, MPI_STATUS_IGNORE);
    SleepWhile(gate_->round, round);
  }
  Atomic(gate_->asleep).fetch_sub(1);
}

}  // namespace scorecast::shard
