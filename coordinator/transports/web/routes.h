#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/resources/resource.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What the server has at one path. All null if it has nothing.
struct Route {
  const Endpoint* endpoint = nullptr;  ///< For POST.
  const Resource* resource = nullptr;  ///< For GET and HEAD.
  const RefusedUrl* refused = nullptr;
  std::string id;  ///< What the path has in the place of the braces of the URL.

  bool exists() const { return endpoint != nullptr || resource != nullptr; }
  /// For the field Allow: "POST, OPTIONS".
  std::string Allow() const;
  /// That of the resource, which there is.
  SharedContent Content() const;
};

/// The paths of the server. The lists that it is made of must outlive it.
class Routes {
 public:
  /// POST / is the endpoint of `root_url`, if there is one.
  Routes(EndpointList endpoints, const std::vector<Resource>& resources,
         const std::vector<RefusedUrl>& refused, std::string_view root_url = "");

  /// What the server has at a decoded path or, if it has nothing there, at UsualPath of it.
  /// `prefix`: see WebRequest; a path counts as the one with the prefix, if there is that one.
  Route Find(std::string_view path, std::string_view prefix = "") const;
  /// The 404 for a path at which the server has nothing; `route` is what Find returned. Names the
  /// path that is probably meant, and lists what there is.
  proto::Error NotFound(std::string_view path, const Route& route) const;

 private:
  /// Find without prefix.
  Route FindPath(std::string_view path) const;
  /// The path of an endpoint or a resource that is probably meant. Empty if there is none.
  std::string_view Nearest(std::string_view path) const;

  std::map<std::string, Route, std::less<>> routes_;  ///< By URLs.
  std::string overview_;
};

}  // namespace scorecast::coordinator
