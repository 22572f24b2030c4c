#include "shard/exchange/shared_window.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <span>

#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "proto/base/error.h"

namespace scorecast::shard {
namespace {

constexpr std::size_t kCacheLine = 64;
/// Some 0.3 ms: longer than ranks that have a core each are usually apart.
constexpr int kSpins = 10'000;
/// Where they have not, who spins may keep from its core the very rank that it waits for.
constexpr int kSpinsOversubscribed = 200;
/// After so long a sleeping rank looks after MPI's messages.
constexpr long kNapNanoseconds = 1'000'000;
/// What the file of Open MPI's own messages may still grow to, for each rank.
constexpr std::size_t kMessageFileBytes = std::size_t{4} << 20U;

std::size_t PageSize() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t WholePages(std::size_t bytes) {
  const std::size_t page = PageSize();
  return (bytes + page - 1) / page * page;
}

/// Where this process sees a rank's segment, from its first whole page on: Open MPI 4.1 begins
/// segments inside of one, the same for all ranks as they map the same file.
std::byte* SegmentOf(MPI_Win window, int rank) {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  MPI_Win_shared_query(window, rank, &size, &unit, &base);
  const std::size_t inside = reinterpret_cast<std::uintptr_t>(base) % PageSize();
  return static_cast<std::byte*>(base) + (inside == 0 ? 0 : PageSize() - inside);
}

/// The directory of the window's file. Open MPI would say it too, through MPI_T, which takes 0.2 s
/// to start. Without a writable /dev/shm it would take its session's directory.
std::string BackingDirectory() {
  const char* told = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return told != nullptr ? told : "/dev/shm";
}

/// Why there can be no window of so many bytes; empty where there can. Open MPI 4.1 would notice
/// the lack of space on the rank that makes the file, and leave the others waiting; and where the
/// space were gone later, a rank would die of SIGBUS at the first page that it lacks.
std::string Obstacle(std::size_t bytes, int ranks) {
  const std::string directory = BackingDirectory();
  struct statfs system {};
  if (access(directory.c_str(), W_OK) != 0 || statfs(directory.c_str(), &system) != 0) {
    return directory + " cannot be written";
  }
  if (system.f_type != TMPFS_MAGIC) {
    return directory + " is not in memory";  // The pages of a disk's file would be written to it.
  }
  // Open MPI wants 5 % more than the window.
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

/// Rank 0's text, on all ranks.
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

void SpinOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

using Word = std::uint32_t;

std::atomic_ref<Word> Atomic(Word& word) { return std::atomic_ref(word); }

/// Sleeps while `word` is `value`, until WakeAll or the end of a nap.
void SleepWhile(Word& word, Word value) {
  const timespec nap = {0, kNapNanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &nap, nullptr, 0);
}

void WakeAll(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

/// Zero at first, as the window is; each word in a cache line of its own.
struct SharedWindow::Gate {
  alignas(kCacheLine) Word arrived;  // Ranks that are in the barrier.
  alignas(kCacheLine) Word round;    // Barriers that all have reached.
  alignas(kCacheLine) Word asleep;   // Ranks that want to be woken.
};

proto::Expected<std::unique_ptr<SharedWindow>, std::string> SharedWindow::Make(
    const proto::Communicator& group, std::size_t bytes_a_rank, std::size_t common_bytes) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t own = WholePages(bytes_a_rank);
  // In rank 0's segment, behind its own bytes; and each segment has a page to begin on a whole one.
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
    // A window that some lack cannot be freed either.
    throw proto::StartupError("MPI made a shared window of " + std::to_string(all >> 20U) +
                              " MiB on " + std::to_string(number_made) + " ranks of " +
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
  most_spins_ = ranks <= sysconf(_SC_NPROCESSORS_ONLN) ? kSpins : kSpinsOversubscribed;
  for (int r = 0; r < ranks; ++r) {
    bases_.push_back(SegmentOf(window_, r));
  }
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);  // MPI_Win_sync wants an epoch.
}

SharedWindow::~SharedWindow() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
  MPI_Comm_free(&comm_);
}

// Not MPI_Barrier: on a machine with more to do than cores that takes twice as long where it
// yields, and more where mpirun did not tell it to.
void SharedWindow::Barrier() {
  MPI_Win_sync(window_);
  const Word round = Atomic(gate_->round).load();
  if (Atomic(gate_->arrived).fetch_add(1) + 1 == bases_.size()) {
    // Before the round, which lets the others go on to the next barrier.
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

/// Until `round` is over.
void SharedWindow::WaitForRound(std::uint32_t round) {
  for (int i = 0; i < most_spins_; ++i) {
    if (Atomic(gate_->round).load() != round) {
      return;
    }
    SpinOnce();
  }
  // Counted before it looks at the round once more, as who ends the round looks after that: one of
  // the two sees the other.
  Atomic(gate_->asleep).fetch_add(1);
  while (Atomic(gate_->round).load() == round) {
    // A message that this rank has sent may want its help to leave, and the rank waited for may be
    // waiting for that.
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, MPI_STATUS_IGNORE);
    SleepWhile(gate_->round, round);
  }
  Atomic(gate_->asleep).fetch_sub(1);
}

}  // namespace scorecast::shard
