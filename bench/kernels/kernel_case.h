#pragma once

#include <functional>
#include <string>

namespace scorecast::bench {

/// A kernel of the engine with random arguments. Counts are those of one run.
struct KernelRun {
  double operations = 0;  ///< Multiplications and additions of products.
  double elements = 0;    ///< Results of a kernel that has no products.
  double bytes = 0;       ///< Weights, which come from memory.
  std::function<void()> run;
};

struct KernelCase {
  std::string name;
  std::function<KernelRun()> make;  ///< Makes the arguments, too.
};

}  // namespace scorecast::bench
