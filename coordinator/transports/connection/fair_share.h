#pragma once

#include <list>
#include <map>
#include <memory>

#include "coordinator/schedule/client_id.h"

namespace scorecast::coordinator {

/// A share of the time of some threads. Shares form a tree: inside the share of all clients are
/// those of networks, inside each of these are those of its addresses, and so on to connections. A
/// share without others inside it is a leaf, and takes turns.
///
/// Start-time fair queueing (Goyal, Vin and Cheng, 1996), at each level: a share has a virtual
/// time, which grows by the seconds that its turns took, and of the shares that wait, the one with
/// the least time is next. A share that begins to wait starts at the time of the share whose turn
/// began last, so that it saves up nothing while it does not wait. Until a turn has ended it counts
/// as long as turns take on average, so that several threads do not all go to the same share.
///
/// Not safe to use from several threads.
class FairShare {
 public:
  /// The root. A turn under way counts as `turn_seconds` until the mean of some is known.
  explicit FairShare(double turn_seconds = 0) : mean_(turn_seconds) {}
  explicit FairShare(FairShare& parent) : parent_(&parent) { ++parent.inside_; }
  /// Must neither wait nor be under way. Shares inside it are destroyed before.
  ~FairShare();

  FairShare(const FairShare&) = delete;
  FairShare& operator=(const FairShare&) = delete;

  /// The share inside this one that has a name; made if there is none. It is destroyed when no
  /// other share is inside it and its time is not ahead of the others, which then make no
  /// difference between it and a new one.
  FairShare& Named(const ClientName& name);

  /// Puts a leaf into another share. It must neither wait nor be under way.
  void MoveTo(FairShare& parent);

  /// A leaf asks for a turn. It must neither wait nor be under way.
  void Wait();

  /// Whether any leaf waits.
  bool has_waiting() const { return !waiting_.empty(); }
  /// Called on the root if a leaf waits: begins a turn. Returns its leaf, which no longer waits.
  FairShare& Begin();
  /// Called on that leaf when the turn has taken so long.
  void End(double seconds);

  /// Number of shares that have names and are inside this one.
  std::size_t named() const { return named_.size(); }

 private:
  using Waiting = std::multimap<double, FairShare*>;  ///< By time, then as they began to wait.

  /// What the latest turn counts in the mean.
  static constexpr double kLatest = 0.125;

  /// Ends its place in the parent.
  void LeaveParent();
  void Enter();
  void Leave();
  void Add(double seconds);
  /// Destroys named shares that make no difference any more.
  void Forget();

  FairShare* parent_ = nullptr;
  double time_ = 0;
  bool is_waiting_ = false;
  Waiting::iterator place_;  ///< In the parent's `waiting_` while `is_waiting_`.
  Waiting::node_type
      unused_;           ///< The same place while it does not wait, so that none is allocated.
  double expected_ = 0;  ///< What the turn of a leaf counts until it has ended.
  int under_way_ = 0;    ///< Turns of the leaves inside, or of this leaf.

  Waiting waiting_;    ///< The shares inside that wait, or inside which one waits.
  double now_ = 0;     ///< Time at which shares inside begin to wait.
  double latest_ = 0;  ///< Greatest time of any share inside after a turn.
  double mean_ = 0;    ///< Of the root: mean of the seconds of turns.

  std::size_t inside_ = 0;
  std::map<ClientName, std::unique_ptr<FairShare>> named_;
  ClientName name_;  ///< Of a named share.
  bool is_named_ = false;
  bool is_left_ = false;        ///< It is in the parent's `left_`.
  std::list<FairShare*> left_;  ///< Named shares inside which there was none at some time.
};

}  // namespace scorecast::coordinator
