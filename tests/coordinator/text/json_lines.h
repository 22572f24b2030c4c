#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

/// The objects of a file, one a line. Throws where the file is missing or a line is broken.
std::vector<nlohmann::json> ReadJsonLines(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
