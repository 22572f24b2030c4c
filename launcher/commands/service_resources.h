#pragma once

#include <vector>

#include "coordinator/resources/resource.h"
#include "launcher/commands/commands.h"
#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// The resources that clients of this service read with GET: `others`, the model, the tokenizer,
/// and the document that describes all of these and the endpoints. Called on rank 0.
std::vector<coordinator::Resource> ServiceResources(const ServeFlags& flags, const Engine& engine,
                                                    std::vector<coordinator::Resource> others);

}  // namespace scorecast::launcher
