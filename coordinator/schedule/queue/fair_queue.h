#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/pass/pass_work.h"

namespace scorecast::coordinator {

/// What a job of a priority weighs against one of priority 0: 1.25^-priority. The weights of any
/// two priorities are less than 90 times apart.
double WeightOf(std::int32_t priority);

/// The flow of a job: jobs of one connection with the same priority and about the same size.
struct FairPath {
  ClientId client;
  std::int32_t priority = 0;
  /// 0: up to one bounded pass, 1: up to 4, 2: up to 16, and so on.
  std::int32_t size_class = 0;

  auto operator<=>(const FairPath&) const = default;
};

/// Tags of a network and of an address in it: see FairQueue.
struct AddressTags {
  double network = 0;
  double address = 0;

  auto operator<=>(const AddressTags&) const = default;
};

/// Tags of a network, an address in it, a connection of that and a flow of that: see FairQueue.
struct FairTags {
  double network = 0;
  double address = 0;
  double connection = 0;
  double flow = 0;

  AddressTags of_address() const { return {network, address}; }
  auto operator<=>(const FairTags&) const = default;
};

/// What waits in a flow.
struct FlowBacklog {
  FairPath path;
  double weight = 1;
  double seconds = 0;  ///< Predicted.
  FairTags tags = {};
};

/// The order in which clients are served: start-time fair queueing (Goyal, Vin and Cheng, 1996)
/// over a tree of networks, their addresses, the connections of these, and the flows of those.
///
/// A node's tag is the time, divided by the weight of the jobs, for which it was served. The next
/// network is the one with the smallest tag, and so on down to a flow, whose entries are served in
/// order. (Deficit round robin would be as fair, but a newcomer would wait for a round of turns.)
/// A tag counts as at least that of the sibling served last, minus a credit. A client that was idle
/// saves up no more than that, and is served at once for as long as its credit lasts. What new
/// clients use of their credits raises the tags of the next new ones, so that a client that makes a
/// connection for each request does not keep the others waiting. A flow of jobs longer than a pass
/// has no credit, so that it never delays the short ones of its connection.
///
/// Bound: over any interval in which two siblings have entries that can be served, their times
/// divided by their weights differ by at most the credit and the largest charge of each.
///
/// Pure: the order depends on the calls alone. Not safe for several threads.
class FairQueue {
 public:
  /// What is queued: see Add. Entries of one flow are served in this order.
  struct Entry {
    std::uint64_t ticket = 0;
    std::size_t sequence = 0;
    auto operator<=>(const Entry&) const = default;
  };

  FairQueue();
  ~FairQueue();

  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  /// Adds an entry, which must not be in the queue. `left` is what it has left to compute.
  void Add(const FairPath& path, const Entry& entry, const PassWork& left);
  void SetLeft(const FairPath& path, const Entry& entry, const PassWork& left);
  void Remove(const FairPath& path, const Entry& entry);

  /// Begins to form a pass: every entry can be served. Nodes may save up `credit` seconds.
  void BeginPass(double credit);
  /// The next entry that can be served. The same one again, unless the order has changed.
  std::optional<Entry> Next();
  /// The entry that Next returned is not served any more in this pass.
  void Skip();
  /// The entry that Next returned is served for `seconds`.
  void ChargeNext(double seconds);
  /// Charges, out of turn, for work of a flow that need not have entries. May be negative, to give
  /// back a part of an earlier charge.
  void Charge(const FairPath& path, double seconds);

  FairTags TagsOf(const FairPath& path) const;
  bool empty() const { return size() == 0; }
  std::size_t size() const;
  /// What all entries have left to compute.
  const PassWork& left() const;
  std::vector<FlowBacklog> Backlogs(const PassRates& rates) const;
  /// Number of nodes, those included that are kept only for their tags.
  std::size_t nodes() const;

 private:
  struct Node;

  Node& NodeOf(const FairPath& path);
  double StartOf(const Node& node) const;
  void ChargeNode(Node& node, double seconds, bool in_turn);
  void SetTag(Node& node, double tag);
  void NoteBusy(Node& node);
  void NoteIdle(Node& node);
  void ForgetIdle(Node& parent);
  Node* BestChild(Node& node) const;

  std::unique_ptr<Node> root_;
  Node* next_ = nullptr;  ///< The flow of the entry that Next returned.
  double credit_ = 0;
  std::uint64_t pass_ = 1;
  std::uint64_t times_busy_ = 0;
};

}  // namespace scorecast::coordinator
