#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_json.h"

namespace scorecast::coordinator {

/// The members of an object. Whatever is inserted becomes the last one, so that an object of many
/// keys takes no longer than its text. Looking for a key takes as long as there are members.
template <typename Key, typename Value, typename Less, typename Allocator>
class MemberList : public std::vector<std::pair<Key, Value>> {
 public:
  using key_type = Key;
  using mapped_type = Value;
  using key_compare = std::equal_to<>;
  using List = std::vector<std::pair<Key, Value>>;
  using typename List::const_iterator;
  using typename List::iterator;
  using typename List::size_type;
  using typename List::value_type;

  MemberList() = default;
  template <typename Iterator>
  MemberList(Iterator first, Iterator last) {
    insert(first, last);
  }

  template <typename KeyLike>
  std::pair<iterator, bool> emplace(KeyLike&& key, Value&& value) {
    this->emplace_back(Key(std::forward<KeyLike>(key)), std::move(value));
    return {std::prev(this->end()), true};
  }
  std::pair<iterator, bool> insert(value_type&& member) {
    this->push_back(std::move(member));
    return {std::prev(this->end()), true};
  }
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) {
      this->emplace_back(first->first, first->second);
    }
  }
  /// Adds a member.
  template <typename KeyLike>
  Value& operator[](KeyLike&& key) {
    return emplace(std::forward<KeyLike>(key), Value()).first->second;
  }

  template <typename KeyLike>
  iterator find(const KeyLike& key) {
    return Find(*this, key);
  }
  template <typename KeyLike>
  const_iterator find(const KeyLike& key) const {
    return Find(*this, key);
  }
  template <typename KeyLike>
  size_type count(const KeyLike& key) const {
    return find(key) == this->end() ? 0 : 1;
  }
  using List::at;
  template <typename KeyLike>
  Value& at(const KeyLike& key) {
    return find(key)->second;
  }

 private:
  /// The last one, if there are several.
  template <typename Members, typename KeyLike>
  static auto Find(Members& members, const KeyLike& key) {
    auto found = members.end();
    for (auto member = members.begin(); member != members.end(); ++member) {
      if (member->first == key) {
        found = member;
      }
    }
    return found;
  }
};

}  // namespace scorecast::coordinator
