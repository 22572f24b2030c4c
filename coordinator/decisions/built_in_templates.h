#pragma once

#include <span>

#include "coordinator/templates/template_file.h"

namespace scorecast::coordinator {

/// The files of templates/.
std::span<const TemplateFile> BuiltInDecisionFiles();

}  // namespace scorecast::coordinator
