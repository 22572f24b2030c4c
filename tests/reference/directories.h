#pragma once

namespace scorecast::reference {

/// Directories of test data. Only directories.cc is compiled with their paths: another clone of the
/// same sources takes all other objects from ccache.
extern const char* const kTestsDirectory;  ///< tests/ of this clone.
extern const char* const
    kSharedDirectory;  ///< Reference data outside of the repository. It may be missing.

}  // namespace scorecast::reference
