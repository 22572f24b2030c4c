#include "coordinator/transports/connection/turn_order.h"

#include <algorithm>
#include <tuple>

namespace scorecast::coordinator {
namespace {

/// Idle nodes are looked for when there are this many more than after the last look.
constexpr std::size_t kMostIdle = 64;

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
  }
  return child->second;
}

TurnOrder::Node& TurnOrder::LeafOf(const ClientId& client) {
  return ChildOf(ChildOf(root_, {client.address, 0}), client);
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

std::optional<TurnOrder::Choice> TurnOrder::Next(std::size_t room) const {
  const auto with_begun = root_.with_begun.begin();
  const auto with_new = std::find_if(root_.with_new.begin(), root_.with_new.end(),
                                     [&](const Node* address) { return address->begun < room; });
  const bool has_begun = with_begun != root_.with_begun.end();
  const bool has_new = with_new != root_.with_new.end();
  if (!has_begun && !has_new) {
    return std::nullopt;
  }
  const bool takes_new = has_new && (!has_begun || !ByTag()(*with_begun, *with_new));
  const Node& address = takes_new ? **with_new : **with_begun;
  const auto first = [](const Order& order) { return order.empty() ? nullptr : *order.begin(); };
  const Node* begun = first(address.with_begun);
  const Node* fresh = address.begun < room ? first(address.with_new) : nullptr;
  const Node& leaf =
      begun == nullptr || (fresh != nullptr && ByTag()(fresh, begun)) ? *fresh : *begun;
  return Choice{leaf.client, leaf.waits_begun > 0 ? Work::kBegun : Work::kNew};
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
  Node* const address = leaf.parent;
  ForgetIdle(*address);
  ForgetIdle(root_);
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
    nodes_ -= 1 + child.children.size();
    return true;
  });
  parent.kept = parent.children.size();
}

}  // namespace scorecast::coordinator
