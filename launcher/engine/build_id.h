#pragma once

#include <string>

namespace scorecast::launcher {

/// The build ID, in hexadecimal: the linker's number that tells this executable from other builds.
std::string BuildId();

}  // namespace scorecast::launcher
