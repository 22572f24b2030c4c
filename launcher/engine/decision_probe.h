#pragma once

#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Asks a model that decides three questions about a short state, and logs how much of the
/// vocabulary's probability the labels of each have: a low part says that template and model do not
/// fit. Called on every rank, before a service begins. Does nothing if the model does not decide.
void ProbeDecisions(Engine& engine);

}  // namespace scorecast::launcher
