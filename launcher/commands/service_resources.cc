#include "launcher/commands/service_resources.h"

#include <utility>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/resources/info.h"
#include "coordinator/resources/models.h"
#include "coordinator/resources/openapi.h"
#include "coordinator/resources/tokenizer_info.h"

namespace scorecast::launcher {

std::vector<coordinator::Resource> ServiceResources(const ServeFlags& flags, const Engine& engine,
                                                    std::vector<coordinator::Resource> others) {
  const coordinator::ServiceFacts facts{
      .config = engine.config(),
      .options = engine.server_options(),
      .dtype = engine.dtype(),
      .version = SCORECAST_VERSION,
      .max_queue = flags.max_queue,
      .max_batch_tokens = engine.limits().max_rows,
      .tokenizing_threads = flags.io_threads,
  };
  std::vector<coordinator::Resource> resources = std::move(others);
  resources.push_back(ModelsResource(facts));
  resources.push_back(InfoResource(facts));
  resources.push_back(coordinator::TokenizerInfoResource(flags.engine.model));
  resources.push_back(
      coordinator::OpenApiResource(coordinator::Endpoints(), resources, facts.version));
  return resources;
}

}  // namespace scorecast::launcher
