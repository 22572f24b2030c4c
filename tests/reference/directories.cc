#include "tests/reference/directories.h"

namespace scorecast::reference {

const char* const kTestsDirectory = SCORECAST_TESTS_DIR;
const char* const kSharedDirectory = SCORECAST_SHARED_DIR;

}  // namespace scorecast::reference
