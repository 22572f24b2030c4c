#pragma once

#include <string>

namespace scorecast::launcher {

/// The number in hexadecimal by which the linker tells this executable from other builds.
std::string BuildId();

}  // namespace scorecast::launcher
