#pragma once

#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

/// GET /: a page that shows the service at work, and has forms to try it out. It is one document
/// with all of its style and scripts, and reads nothing but resources and endpoints of the service
/// that serves it; its Content-Security-Policy allows nothing else. It holds no secret, so it needs
/// no key, and asks its reader for one if the service wants one.
Resource PageResource();

}  // namespace scorecast::coordinator
