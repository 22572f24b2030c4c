#pragma once

#include <utility>

#include <unistd.h>

namespace scorecast::launcher {

/// Owns a file descriptor, and closes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { Reset(); }

  /// -1 if there is no descriptor.
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

  /// Gives the descriptor away.
  int Release() { return std::exchange(number_, -1); }
  void Reset() {
    if (number_ >= 0) {
      close(number_);
      number_ = -1;
    }
  }

 private:
  int number_ = -1;
};

}  // namespace scorecast::launcher
