#include "coordinator/transports/web/routes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "coordinator/endpoints/url_pattern.h"
#include "coordinator/request/request_error.h"
#include "coordinator/transports/web/request_path.h"
#include "proto/base/nearest_name.h"

namespace scorecast::coordinator {
namespace {

std::string_view LastSegment(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string_view> Segments(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

/// How many segments of a URL a path has at its beginning or at its end.
std::size_t SharedEnds(std::string_view url, std::string_view path) {
  const std::vector<std::string_view> one = Segments(url);
  const std::vector<std::string_view> other = Segments(path);
  const auto front = std::ranges::mismatch(one, other).in1 - one.begin();
  const auto back =
      std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend()).first - one.rbegin();
  return std::min(static_cast<std::size_t>(front + back), one.size());
}

}  // namespace

SharedContent Route::Content() const {
  return resource->get_by_id ? resource->get_by_id(id) : resource->get();
}

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
  const std::string usual = UsualPath(path);
  // Before any pattern, because a name may have slashes and versions.
  for (const std::string_view one : {path, std::string_view(usual)}) {
    if (const auto found = routes_.find(one); found != routes_.end()) {
      return found->second;
    }
  }
  for (const std::string_view one : {path, std::string_view(usual)}) {
    const auto found = std::ranges::find_if(
        routes_, [one](const auto& route) { return StandsFor(route.first, one); });
    if (found != routes_.end()) {
      Route route = found->second;
      route.id = NamedIn(found->first, one);
      return route;
    }
  }
  return {};
}

std::string_view Routes::Nearest(std::string_view path) const {
  std::vector<std::string_view> ends;
  for (const auto& [url, route] : routes_) {
    if (route.exists() && PatternName(url).empty()) {
      ends.push_back(LastSegment(url));
    }
  }
  const std::string_view end = proto::NearestName(LastSegment(path), ends);
  std::string_view nearest;
  // Of several with as much in common, the shortest.
  std::pair<std::size_t, std::ptrdiff_t> most;
  for (const auto& [url, route] : routes_) {
    const std::pair common(SharedEnds(url, path), -std::ssize(url));
    if (!end.empty() && route.exists() && LastSegment(url) == end &&
        (nearest.empty() || common > most)) {
      nearest = url;
      most = common;
    }
  }
  return nearest;
}

Route Routes::Find(std::string_view path, std::string_view prefix) const {
  const Route prefixed = prefix.empty() ? Route() : FindPath(std::string(prefix).append(path));
  return prefixed.exists() ? prefixed : FindPath(path);
}

proto::Error Routes::NotFound(std::string_view path, const Route& route) const {
  if (route.refused != nullptr) {
    return {404, "not_supported", route.refused->message, "url"};
  }
  const std::string_view nearest = Nearest(path);
  const std::string meant = nearest.empty() ? "" : " Did you mean " + std::string(nearest) + "?";
  return {404, "unknown_url",
          "This server has no " + Quoted(path) + "." + meant + " It has: " + overview_ + ".",
          "url"};
}

}  // namespace scorecast::coordinator
