#pragma once

namespace scorecast::proto {

/// MPI for the life of the object; one per process, made by the thread that will call MPI
/// (MPI_THREAD_FUNNELED). Started without a launcher, the process is a world of one rank.
/// From here on a failed Check names the rank and ends the job by MPI_Abort.
class MpiEnvironment {
 public:
  MpiEnvironment();
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
};

}  // namespace scorecast::proto
