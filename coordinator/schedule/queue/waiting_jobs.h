#pragma once

#include <cstddef>
#include <map>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/queue/job_size.h"

namespace scorecast::coordinator {

/// How many jobs wait, and what they hold.
struct WaitingJobs {
  std::size_t jobs = 0;
  JobSize size;

  void Add(const JobSize& job);
  void Remove(const JobSize& job);
};

/// The same, of all clients, of each network, address and connection.
class WaitingClients {
 public:
  void Add(const ClientId& client, const JobSize& job);
  /// The job was added.
  void Remove(const ClientId& client, const JobSize& job);

  const WaitingJobs& all() const { return all_; }
  WaitingJobs OfNetwork(const ClientId& client) const;
  WaitingJobs OfAddress(const ClientId& client) const;
  WaitingJobs OfConnection(const ClientId& client) const;

 private:
  WaitingJobs all_;
  std::map<ClientName, WaitingJobs> networks_;
  std::map<ClientName, WaitingJobs> addresses_;
  std::map<ClientId, WaitingJobs> connections_;
};

}  // namespace scorecast::coordinator
