#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

// Only this source is compiled with the path.
const char* const kScorecastProgram = SCORECAST_PROGRAM;

}  // namespace scorecast::testing
