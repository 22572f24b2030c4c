#include "coordinator/schedule/queue/fair_queue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

namespace {

/// Upper bound on the idle children of a node that are kept for their tags.
constexpr std::size_t kMaxIdle = 1024;

/// The level of flows: see Node::level.
constexpr std::size_t kFlow = 4;

/// Distinguishes the children of a node: networks, addresses, connections, or flows.
using Key = std::pair<ClientName, std::uint64_t>;

std::array<Key, kFlow> KeysOf(const FairPath& path) {
  const auto flow = static_cast<std::uint64_t>(static_cast<std::uint32_t>(path.priority)) << 32 |
                    static_cast<std::uint32_t>(path.size_class);
  return {Key(path.client.network, 0), Key(path.client.address, 0), Key({}, path.client.connection),
          Key({}, flow)};
}

}  // namespace

double WeightOf(std::int32_t priority) { return std::pow(1.25, -priority); }

struct FairQueue::Node {
  using Entries = std::map<Entry, PassWork>;

  Node* parent = nullptr;
  Key key;
  std::size_t level = 0;  ///< 0: the root; 1: a network; 2: an address; and so on to kFlow.
  double tag = -std::numeric_limits<double>::infinity();
  double passed = 0;  ///< The tag of the child that was served last; it never falls.
  double newcomers = -std::numeric_limits<double>::infinity();  ///< The least tag of new children.
  double served = 0;             ///< Sum of the charges since this node was new.
  std::uint64_t busy_since = 0;  ///< Decides between equal tags.
  std::uint64_t tried_in = 0;    ///< The pass in which no further entry can be served.
  std::uint64_t turn_in = 0;     ///< The last pass in which a child was served in turn.
  std::size_t size = 0;          ///< Number of entries.
  PassWork left;                 ///< Of all entries.
  std::map<Key, std::unique_ptr<Node>> children;
  std::vector<Node*> busy;                ///< Children with entries.
  std::set<std::pair<double, Key>> idle;  ///< Children without, by their tags.
  // Of a flow.
  FairPath path;
  Entries entries;
  Entries::iterator cursor;     ///< The next entry to serve in this pass.
  std::uint64_t cursor_in = 0;  ///< The pass that `cursor` is of.
};

FairQueue::FairQueue() : root_(std::make_unique<Node>()) {}
FairQueue::~FairQueue() = default;

FairQueue::Node& FairQueue::NodeOf(const FairPath& path) {
  Node* node = root_.get();
  for (const Key& key : KeysOf(path)) {
    std::unique_ptr<Node>& child = node->children[key];
    if (child == nullptr) {
      child = std::make_unique<Node>();
      child->parent = node;
      child->key = key;
      child->level = node->level + 1;
      child->tag = node->newcomers;
      child->path = child->level == kFlow ? path : FairPath();
      node->idle.emplace(child->tag, key);
    }
    node = child.get();
  }
  return *node;
}

double FairQueue::StartOf(const Node& node) const {
  const bool has_credit = node.level < kFlow || node.path.size_class == 0;
  return std::max(node.tag, node.parent->passed - (has_credit ? credit_ : 0));
}

void FairQueue::Add(const FairPath& path, const Entry& entry, const PassWork& left) {
  Node& flow = NodeOf(path);
  Check(flow.entries.emplace(entry, left).second, "an entry is queued once");
  for (Node* node = &flow; node != nullptr; node = node->parent) {
    node->left += left;
    if (node->size++ == 0) {
      NoteBusy(*node);
    }
  }
}

void FairQueue::SetLeft(const FairPath& path, const Entry& entry, const PassWork& left) {
  Node& flow = NodeOf(path);
  PassWork& own = flow.entries.at(entry);
  for (Node* node = &flow; node != nullptr; node = node->parent) {
    node->left -= own;
    node->left += left;
  }
  own = left;
}

void FairQueue::Remove(const FairPath& path, const Entry& entry) {
  Node& flow = NodeOf(path);
  const auto found = flow.entries.find(entry);
  Check(found != flow.entries.end(), "an entry that is removed is queued");
  const PassWork left = found->second;
  if (flow.cursor_in == pass_ && flow.cursor == found) {
    ++flow.cursor;
  }
  flow.entries.erase(found);
  for (Node* node = &flow; node != nullptr; node = node->parent) {
    node->left -= left;
    --node->size;
  }
  next_ = nullptr;
  for (Node* node = &flow; node->parent != nullptr && node->size == 0;) {
    Node* parent = node->parent;
    NoteIdle(*node);
    ForgetIdle(*parent);  // Perhaps the node itself.
    node = parent;
  }
}

void FairQueue::NoteBusy(Node& node) {
  node.busy_since = ++times_busy_;
  if (node.parent != nullptr) {
    node.parent->idle.erase({node.tag, node.key});
    node.parent->busy.push_back(&node);
  }
}

void FairQueue::NoteIdle(Node& node) {
  std::erase(node.parent->busy, &node);
  node.parent->idle.emplace(node.tag, node.key);
}

void FairQueue::ForgetIdle(Node& parent) {
  while (!parent.idle.empty() &&
         (parent.idle.begin()->first <= parent.passed - credit_ || parent.idle.size() > kMaxIdle)) {
    parent.children.erase(parent.idle.begin()->second);
    parent.idle.erase(parent.idle.begin());
  }
}

void FairQueue::BeginPass(double credit) {
  credit_ = credit;
  ++pass_;
  next_ = nullptr;
}

FairQueue::Node* FairQueue::BestChild(Node& node) const {
  Node* best = nullptr;
  for (Node* child : node.busy) {
    if (child->tried_in == pass_) {
      continue;
    }
    if (best == nullptr || std::pair(StartOf(*child), child->busy_since) <
                               std::pair(StartOf(*best), best->busy_since)) {
      best = child;
    }
  }
  return best;
}

std::optional<FairQueue::Entry> FairQueue::Next() {
  Node* node = root_.get();
  while (node != nullptr) {
    Node* best = node->level < kFlow ? BestChild(*node) : nullptr;
    if (best != nullptr) {
      node = best;
      continue;
    }
    if (node->level == kFlow) {
      if (std::exchange(node->cursor_in, pass_) != pass_) {
        node->cursor = node->entries.begin();
      }
      if (node->cursor != node->entries.end()) {
        next_ = node;
        return node->cursor->first;
      }
    }
    node->tried_in = pass_;
    node = node->parent;
  }
  return std::nullopt;
}

void FairQueue::Skip() {
  Check(next_ != nullptr, "an entry that is skipped is the next one");
  ++next_->cursor;
}

void FairQueue::ChargeNext(double seconds) {
  Check(next_ != nullptr, "an entry that is served is the next one");
  ChargeNode(*next_, seconds, /*in_turn=*/true);
}

void FairQueue::Charge(const FairPath& path, double seconds) {
  ChargeNode(NodeOf(path), seconds, /*in_turn=*/false);
}

void FairQueue::ChargeNode(Node& flow, double seconds, bool in_turn) {
  const double charge = seconds / WeightOf(flow.path.priority);
  for (Node* node = &flow; node->parent != nullptr; node = node->parent) {
    const double start = StartOf(*node);
    SetTag(*node, start + charge);
    Node& parent = *node->parent;
    if (in_turn) {
      parent.passed = std::max(parent.passed, start);
      if (node->served < credit_) {
        // What a new child uses of its credit raises the tags of the next new ones, the less the
        // more children are busy. Otherwise a stream of new children would keep an older one
        // waiting forever.
        parent.newcomers = std::max(parent.newcomers, parent.passed - credit_) +
                           charge / static_cast<double>(parent.busy.size());
      }
      node->served += charge;
      parent.turn_in = pass_;
    } else if (charge > 0 && (parent.busy.empty() || parent.turn_in + 1 < pass_)) {
      // If no child waits, or none had a turn in this pass or the last one, `passed` goes on with
      // what is served out of turn, such as running completions.
      parent.passed = std::max(parent.passed, start);
    }
  }
}

void FairQueue::SetTag(Node& node, double tag) {
  if (node.size == 0) {
    node.parent->idle.erase({node.tag, node.key});
    node.parent->idle.emplace(tag, node.key);
  }
  node.tag = tag;
}

FairTags FairQueue::TagsOf(const FairPath& path) const {
  std::array<double, kFlow> tags = {};
  const Node* node = root_.get();
  const std::array<Key, kFlow> keys = KeysOf(path);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = node->children.find(keys[i]);
    if (found == node->children.end()) {
      tags[i] = std::max(node->passed - credit_, node->newcomers);
      break;
    }
    node = found->second.get();
    tags[i] = StartOf(*node);
  }
  return {tags[0], tags[1], tags[2], tags[3]};
}

std::size_t FairQueue::size() const { return root_->size; }

const PassWork& FairQueue::left() const { return root_->left; }

std::vector<FlowBacklog> FairQueue::Backlogs(const PassRates& rates) const {
  std::vector<FlowBacklog> backlogs;
  for (const Node* network : root_->busy) {
    for (const Node* address : network->busy) {
      for (const Node* connection : address->busy) {
        for (const Node* flow : connection->busy) {
          backlogs.push_back(
              {flow->path,
               WeightOf(flow->path.priority),
               rates.Seconds(flow->left),
               {StartOf(*network), StartOf(*address), StartOf(*connection), StartOf(*flow)}});
        }
      }
    }
  }
  return backlogs;
}

std::size_t FairQueue::nodes() const {
  const auto count = [](const auto& self, const Node& node) -> std::size_t {
    std::size_t nodes = 0;
    for (const auto& [key, child] : node.children) {
      nodes += 1 + self(self, *child);
    }
    return nodes;
  };
  return count(count, *root_);
}

}  // namespace scorecast::coordinator
