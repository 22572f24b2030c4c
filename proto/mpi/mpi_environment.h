#pragma once

namespace scorecast::proto {

/// Keeps MPI initialised for the life of the object. A process has one such object, made by the
/// thread that will call MPI (MPI_THREAD_FUNNELED). A process that no launcher started is a world
/// of one rank. As long as the object lives, a failed Check names the rank and ends the job by
/// MPI_Abort.
class MpiEnvironment {
 public:
  MpiEnvironment();
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
};

}  // namespace scorecast::proto
