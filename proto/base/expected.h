#pragma once

#include <utility>
#include <variant>

#include "proto/base/check.h"
#include "proto/base/error.h"

namespace scorecast::proto {

/// Marks a value as the error of an `Expected`: `return Unexpected(Error{...});`
template <typename E>
class Unexpected {
 public:
  explicit Unexpected(E error) : error_(std::move(error)) {}
  E&& Take() && { return std::move(error_); }

 private:
  E error_;
};

/// A value, or the error that explains why there is none. The part of C++23's std::expected that
/// this project needs.
template <typename T, typename E = Error>
class [[nodiscard]] Expected {
 public:
  Expected(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Expected(Unexpected<E> error)                              // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error).Take()) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// Accessing the side that is not there is a broken invariant.
  T& value() & { return *Get<0>(); }
  const T& value() const& { return *Get<0>(); }
  T&& value() && { return std::move(*Get<0>()); }
  E& error() & { return *Get<1>(); }
  const E& error() const& { return *Get<1>(); }
  E&& error() && { return std::move(*Get<1>()); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return Get<0>(); }
  const T* operator->() const { return Get<0>(); }

 private:
  template <std::size_t side>
  auto* Get() {
    auto* held = std::get_if<side>(&state_);
    Check(held != nullptr, "Expected: the side asked for is not there");
    return held;
  }
  template <std::size_t side>
  const auto* Get() const {
    const auto* held = std::get_if<side>(&state_);
    Check(held != nullptr, "Expected: the side asked for is not there");
    return held;
  }

  std::variant<T, E> state_;
};

}  // namespace scorecast::proto
