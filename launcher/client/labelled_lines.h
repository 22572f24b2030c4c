#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/scorecast.pb.h"

namespace scorecast::launcher {

/// A body of /v1/systemone whose answers are known.
struct LabelledLine {
  std::int64_t line_number = 0;  ///< In the file, from 1 on.
  v1::SystemOneRequest request;
  std::vector<std::size_t> right;  ///< For each question, the index of the right option.
  bool is_held_out = false;        ///< By a digest of the request, without its labels.
};

/// Reads bodies of /v1/systemone, one a line, each with a field `labels`: an object with the right
/// answer to every question by its id. It is true or false for a noul, an option for a choice, and
/// the index of a level for a score. Blank lines are skipped. "-" is standard input; files may be
/// compressed as those of a batch. Throws std::runtime_error, one line with the line's number, if a
/// line has another form, and if there is none.
std::vector<LabelledLine> ReadLabelledLines(const std::filesystem::path& file);

/// For messages: "FILE, line 3: ".
std::string PlaceOf(std::int64_t line_number, const std::filesystem::path& file);

}  // namespace scorecast::launcher
