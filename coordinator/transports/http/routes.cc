#include "coordinator/transports/http/routes.h"

#include <algorithm>

#include "coordinator/endpoints/url_pattern.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {

std::string Route::Allow() const {
  std::string methods;
  if (resource != nullptr) {
    methods += "GET, HEAD, ";
  }
  if (endpoint != nullptr) {
    methods += "POST, ";
  }
  return methods + "OPTIONS";
}

Routes::Routes(EndpointList endpoints, const std::vector<Resource>& resources,
               const std::vector<RefusedUrl>& refused, std::string_view root_url) {
  const auto list = [this](std::string_view method, std::string_view path) {
    overview_ += (overview_.empty() ? "" : ", ") + std::string(method) + " " + std::string(path);
  };
  for (const Endpoint* const endpoint : endpoints) {
    for (const std::string_view url : endpoint->urls()) {
      routes_[std::string(url)].endpoint = endpoint;
      list("POST", url);
    }
  }
  if (const Endpoint* const root = Find(root_url).endpoint) {
    routes_["/"].endpoint = root;
    list("POST", "/");
  }
  for (const Resource& resource : resources) {
    routes_[resource.path].resource = &resource;
    list("GET", resource.path);
  }
  for (const RefusedUrl& url : refused) {
    routes_[url.path].refused = &url;
  }
}

Route Routes::FindPath(std::string_view path) const {
  auto found = routes_.find(path);
  if (found == routes_.end()) {
    found = std::ranges::find_if(
        routes_, [path](const auto& route) { return StandsFor(route.first, path); });
  }
  return found == routes_.end() ? Route() : found->second;
}

Route Routes::Find(std::string_view path, std::string_view prefix) const {
  const Route prefixed = prefix.empty() ? Route() : FindPath(std::string(prefix).append(path));
  return prefixed.exists() ? prefixed : FindPath(path);
}

proto::Error Routes::NotFound(std::string_view path, const Route& route) const {
  if (route.refused != nullptr) {
    return {404, "not_supported", route.refused->message, "url"};
  }
  return {404, "unknown_url", "This server has no " + Quoted(path) + ". It has: " + overview_ + ".",
          "url"};
}

}  // namespace scorecast::coordinator
