#include "coordinator/transports/connection/turn_order.h"

#include <algorithm>
#include <tuple>

namespace scorecast::coordinator {
namespace {

/// Idle nodes are looked for when there are this many more than after the last look.
constexpr std::size_t kMostIdle = 64;

/// A network may have this many times as much begun work as one of its addresses.
constexpr std::size_t kRoomsOfNetwork = 2;

}  // namespace

bool TurnOrder::ByTag::operator()(const Node* a, const Node* b) const {
  return std::tie(a->tag, a->since) < std::tie(b->tag, b->since);
}

TurnOrder::Node& TurnOrder::ChildOf(Node& parent, const ClientId& client) {
  const auto [child, is_new] = parent.children.try_emplace(client);
  if (is_new) {
    ++nodes_;
    child->second.parent = &parent;
    child->second.client = client;
    child->second.level = parent.level + 1;
  }
  return child->second;
}

TurnOrder::Node& TurnOrder::LeafOf(const ClientId& client) {
  Node& network = ChildOf(root_, {.network = client.network});
  return ChildOf(ChildOf(network, {.address = client.address, .network = client.network}), client);
}

template <typename Change>
void TurnOrder::Update(Node& node, Change change) {
  if (node.parent == nullptr) {
    change(node);
    return;
  }
  Node& parent = *node.parent;
  parent.with_new.erase(&node);
  parent.with_begun.erase(&node);
  const bool was_idle = node.is_idle();
  const double tag = node.tag;
  change(node);
  if (was_idle) {
    node.tag = std::max(node.tag, parent.served);
  }
  if (was_idle || node.tag != tag) {
    node.since = ++changes_;
  }
  if (node.waits_new > 0) {
    parent.with_new.insert(&node);
  }
  if (node.waits_begun > 0) {
    parent.with_begun.insert(&node);
  }
}

void TurnOrder::Wait(const ClientId& client, Work work) {
  for (Node* node = &LeafOf(client); node != nullptr; node = node->parent) {
    Update(*node, [&](Node& own) { ++(work == Work::kNew ? own.waits_new : own.waits_begun); });
  }
}

bool TurnOrder::HasRoom(const Node& node, std::size_t room) {
  return node.level == kAddress   ? node.begun < room
         : node.level == kNetwork ? node.begun < kRoomsOfNetwork * room
                                  : true;
}

const TurnOrder::Node* TurnOrder::FirstWithNew(const Node& parent, std::size_t room) {
  if (!HasRoom(parent, room)) {
    return nullptr;
  }
  const auto found =
      std::find_if(parent.with_new.begin(), parent.with_new.end(), [&](const Node* child) {
        return child->level == kConnection || FirstWithNew(*child, room) != nullptr;
      });
  return found == parent.with_new.end() ? nullptr : *found;
}

std::optional<TurnOrder::Choice> TurnOrder::Next(std::size_t room) const {
  const Node* node = &root_;
  while (node->level != kConnection) {
    const Node* const begun = node->with_begun.empty() ? nullptr : *node->with_begun.begin();
    const Node* const fresh = FirstWithNew(*node, room);
    if (begun == nullptr && fresh == nullptr) {
      return std::nullopt;  // Only of the root.
    }
    const bool takes_new = fresh != nullptr && (begun == nullptr || !ByTag()(begun, fresh));
    node = takes_new ? fresh : begun;
  }
  return Choice{node->client, node->waits_begun > 0 ? Work::kBegun : Work::kNew};
}

void TurnOrder::BeginTurn(const Choice& choice, double seconds) {
  for (Node* node = &LeafOf(choice.client); node != nullptr; node = node->parent) {
    if (node->parent != nullptr) {
      node->parent->served = std::max(node->parent->served, node->tag);
    }
    Update(*node, [&](Node& own) {
      --(choice.work == Work::kNew ? own.waits_new : own.waits_begun);
      own.begun += choice.work == Work::kNew ? 1 : 0;
      ++own.turns;
      own.tag += seconds;
    });
  }
}

void TurnOrder::EndTurn(const ClientId& client, double begun_seconds, double seconds,
                        bool is_done) {
  Node& leaf = LeafOf(client);
  for (Node* node = &leaf; node != nullptr; node = node->parent) {
    Update(*node, [&](Node& own) {
      --own.turns;
      own.begun -= is_done ? 1 : 0;
      own.tag += seconds - begun_seconds;
    });
  }
  Node& address = *leaf.parent;
  Node& network = *address.parent;
  ForgetIdle(address);
  ForgetIdle(network);
  ForgetIdle(root_);
}

std::size_t TurnOrder::SizeOf(const Node& node) {
  std::size_t size = 1;
  for (const auto& [client, child] : node.children) {
    size += SizeOf(child);
  }
  return size;
}

void TurnOrder::ForgetIdle(Node& parent) {
  // If all of them are idle, none has been served for longer than those that come next.
  if (!parent.is_idle() && parent.children.size() < 2 * parent.kept + kMostIdle) {
    return;
  }
  std::erase_if(parent.children, [&](const auto& entry) {
    const Node& child = entry.second;
    if (!child.is_idle() || (!parent.is_idle() && child.tag > parent.served)) {
      return false;
    }
    nodes_ -= SizeOf(child);
    return true;
  });
  parent.kept = parent.children.size();
}

}  // namespace scorecast::coordinator
