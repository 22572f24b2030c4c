#include "bench/model_flags.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

namespace scorecast::bench {

const Shape& ModelFlags::shape() const {
  return *std::find_if(Shapes().begin(), Shapes().end(),
                       [this](const Shape& shape) { return shape.name == shape_name; });
}

void AddModelFlags(CLI::App& app, ModelFlags& flags) {
  std::vector<std::string> names;
  for (const Shape& shape : Shapes()) {
    names.push_back(shape.name);
  }
  app.add_option("--shape", flags.shape_name, "The model's shape; its weights are random")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--models", flags.root, "Directory to write the random models to")
      ->required()
      ->type_name("DIR");
}

}  // namespace scorecast::bench
