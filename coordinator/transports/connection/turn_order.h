#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "coordinator/schedule/client_id.h"

namespace scorecast::coordinator {

/// Whose work gets the next turn: start-time fair queueing by measured time (see FairQueue) over a
/// tree of networks, their addresses, and the connections of these.
///
/// A node's tag is the time for which it was served. The next turn is that of the network with the
/// smallest tag, and in it that of the address with the smallest tag, and so on. A node whose work
/// begins to wait counts as served for at least as long as its sibling that was served last had
/// been, so nobody saves up time by being idle.
///
/// Work that has begun and waits for a further turn goes before its connection's work that has not
/// begun. The latter may be held back (`room`), so that the work that has begun is bounded, with
/// room for a network or an address that comes later, however many fill it.
///
/// Pure: the order depends on the calls alone. Not safe for several threads.
class TurnOrder {
 public:
  enum class Work {
    kNew,    ///< It has not begun.
    kBegun,  ///< It has had a turn.
  };

  struct Choice {
    ClientId client;
    Work work = Work::kNew;
  };

  /// A piece of work of the client waits for a turn.
  void Wait(const ClientId& client, Work work);
  /// The next turn; none if nothing waits that may have one. New work counts only if its address
  /// has less begun work than `room`, and its network less than twice that.
  std::optional<Choice> Next(std::size_t room) const;
  /// The turn that Next returned begins. It counts as one of `seconds` until it ends.
  void BeginTurn(const Choice& choice, double seconds);
  /// A turn has taken `seconds`, and began as one of `begun_seconds`. If the work is not done, it
  /// must Wait for another one.
  void EndTurn(const ClientId& client, double begun_seconds, double seconds, bool is_done);

  /// How much work waits for a turn.
  std::size_t waiting() const { return root_.waits_new + root_.waits_begun; }
  /// How much work has begun and is not done.
  std::size_t begun() const { return root_.begun; }
  /// Number of nodes, those included that are kept only for their tags.
  std::size_t nodes() const { return nodes_; }

 private:
  struct Node;
  /// The first is to be served first. Of equal tags, that of the node that has waited longer.
  struct ByTag {
    bool operator()(const Node* a, const Node* b) const;
  };
  using Order = std::set<Node*, ByTag>;

  struct Node {
    Node* parent = nullptr;
    ClientId client;        ///< Only what the node is for: of a network, its name alone.
    std::size_t level = 0;  ///< 0: the root; then kNetwork, and so on.
    double tag = 0;
    std::uint64_t since = 0;  ///< Place among nodes with the same tag.
    std::size_t waits_new = 0;
    std::size_t waits_begun = 0;
    std::size_t turns = 0;  ///< Under way.
    std::size_t begun = 0;
    std::map<ClientId, Node> children;
    Order with_new;        ///< Children with new work that waits.
    Order with_begun;      ///< Children with begun work that waits.
    double served = 0;     ///< The tag, at its turn, of the child that was served last.
    std::size_t kept = 0;  ///< Number of children after the last look for idle ones.

    bool is_idle() const { return waits_new + waits_begun + turns + begun == 0; }
  };

  // Levels of nodes.
  static constexpr std::size_t kNetwork = 1;
  static constexpr std::size_t kAddress = 2;
  static constexpr std::size_t kConnection = 3;

  /// Whether new work inside of the node may begin.
  static bool HasRoom(const Node& node, std::size_t room);

  /// The first child with new work that may have a turn, or null.
  static const Node* FirstWithNew(const Node& parent, std::size_t room);
  static std::size_t SizeOf(const Node& node);
  Node& ChildOf(Node& parent, const ClientId& client);
  Node& LeafOf(const ClientId& client);
  /// Applies a change to a node, and keeps its place in its parent's orders.
  template <typename Change>
  void Update(Node& node, Change change);
  void ForgetIdle(Node& parent);

  Node root_;
  std::size_t nodes_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace scorecast::coordinator
