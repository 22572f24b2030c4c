#pragma once

#include <filesystem>
#include <string>

#include "bench/random_model.h"

namespace CLI {
class App;
}

namespace scorecast::bench {

/// --shape and --models: the random model and its directory.
struct ModelFlags {
  std::string shape_name;
  std::filesystem::path root;

  const Shape& shape() const;
  std::filesystem::path dir() const { return root / shape_name; }
};

/// The default shape is that of `flags`.
void AddModelFlags(CLI::App& app, ModelFlags& flags);

}  // namespace scorecast::bench
