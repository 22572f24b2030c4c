#pragma once

#include <string>

namespace scorecast::proto {

/// Keeps MPI initialised for the life of the object. A process has one such object, made by the
/// thread that will call MPI (MPI_THREAD_FUNNELED). A process that no launcher started is a world
/// of one rank. If all ranks run on one host, they use shared memory only and open no port, unless
/// the user chose a pml or btl by OMPI_MCA_* or mpirun's --mca. As long as the object lives, a
/// failed Check names the rank and ends the job by MPI_Abort. The destructor makes the process
/// ignore SIGTERM from then on.
class MpiEnvironment {
 public:
  MpiEnvironment();
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
};

/// The MPI library that runs, such as "Open MPI v4.1.4". May be called at any time.
std::string MpiLibrary();

}  // namespace scorecast::proto
