#pragma once

#include <cstdint>
#include <string>

#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/line_share.h"
#include "coordinator/transports/batch/run_point.h"

namespace scorecast::coordinator {

/// The lines of an input that get a record of this run: those of its share that are not blank.
class OwnLines {
 public:
  /// `in` outlives the object, and has been read up to `begin`.
  OwnLines(InputFile& in, LineShare share, const RunPoint& begin)
      : in_(in), share_(share), lines_(begin.lines) {}

  /// Reads to the end of the next own line. At kEnd the input has been read to its end, or fails.
  InputFile::Result Next(std::string& line);

  /// Number of the line read last among those that are not blank, from 0 on.
  std::int64_t number() const { return lines_ - 1; }

  /// Moves a point to the end of the line read last.
  void MoveHere(RunPoint& point) const;

 private:
  InputFile& in_;
  const LineShare share_;
  std::int64_t lines_;  ///< Read so far that are not blank.
};

}  // namespace scorecast::coordinator
