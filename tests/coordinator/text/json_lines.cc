#include "tests/coordinator/text/json_lines.h"

#include <fstream>
#include <stdexcept>
#include <string>

namespace scorecast::coordinator {

std::vector<nlohmann::json> ReadJsonLines(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    throw std::runtime_error(file.string() + ": cannot be read");
  }
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(stream, line);) {
    records.push_back(nlohmann::json::parse(line));
  }
  return records;
}

}  // namespace scorecast::coordinator
