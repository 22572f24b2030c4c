#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

/// Reads a file with one JSON object in each line. Throws if the file is missing or a line is
/// malformed.
std::vector<nlohmann::json> ReadJsonLines(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
