#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// Most bytes of a class's name.
inline constexpr std::int64_t kMaxLabelBytes = 256;

/// The names of a classifier's classes, from `id2label` of config.json; "LABEL_0", as transformers
/// has it, for a class without a name. Classes that modules of sentence-transformers make have
/// none. A name that is a number or a truth value becomes its text. Throws StartupError, one line
/// that names the file, if the file is malformed or a name has more than kMaxLabelBytes.
std::vector<std::string> ReadLabelNames(const std::filesystem::path& model_dir,
                                        const proto::ModelConfig& config);

}  // namespace scorecast::coordinator
