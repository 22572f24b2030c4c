#pragma once

#include <ostream>

#include "shard/exchange/row_exchange.h"

namespace scorecast::shard {

/// As GoogleTest prints it.
inline void PrintTo(RowExchange::Transport transport, std::ostream* out) {
  *out << (transport == RowExchange::Transport::kFastest ? "Fastest" : "Messages");
}

}  // namespace scorecast::shard
