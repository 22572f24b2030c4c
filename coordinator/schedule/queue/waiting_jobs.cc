#include "coordinator/schedule/queue/waiting_jobs.h"

namespace scorecast::coordinator {
namespace {

template <typename Key>
void RemoveFrom(std::map<Key, WaitingJobs>& all, const Key& key, const JobSize& job) {
  const auto own = all.find(key);
  own->second.Remove(job);
  if (own->second.jobs == 0) {
    all.erase(own);
  }
}

template <typename Key>
WaitingJobs In(const std::map<Key, WaitingJobs>& all, const Key& key) {
  const auto own = all.find(key);
  return own == all.end() ? WaitingJobs() : own->second;
}

}  // namespace

void WaitingJobs::Add(const JobSize& job) {
  ++jobs;
  size.tokens += job.tokens;
  size.bytes += job.bytes;
}

void WaitingJobs::Remove(const JobSize& job) {
  --jobs;
  size.tokens -= job.tokens;
  size.bytes -= job.bytes;
}

void WaitingClients::Add(const ClientId& client, const JobSize& job) {
  all_.Add(job);
  networks_[client.network].Add(job);
  addresses_[client.address].Add(job);
  connections_[client].Add(job);
}

void WaitingClients::Remove(const ClientId& client, const JobSize& job) {
  all_.Remove(job);
  RemoveFrom(networks_, client.network, job);
  RemoveFrom(addresses_, client.address, job);
  RemoveFrom(connections_, client, job);
}

WaitingJobs WaitingClients::OfNetwork(const ClientId& client) const {
  return In(networks_, client.network);
}

WaitingJobs WaitingClients::OfAddress(const ClientId& client) const {
  return In(addresses_, client.address);
}

WaitingJobs WaitingClients::OfConnection(const ClientId& client) const {
  return In(connections_, client);
}

}  // namespace scorecast::coordinator
