#pragma once

#include <cstddef>
#include <span>

#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Brings the pages of `bytes` into memory, so that using them later costs no page fault. What they
/// hold stays. The pool's threads share the work, as they share the rows of a pass: which thread
/// will use a page is not known beforehand. No one else may write the bytes meanwhile.
void TouchPages(std::span<std::byte> bytes, ThreadPool& pool);

/// The same for memory that another process owns, and may be writing: only reads it.
void TouchPagesToRead(std::span<const std::byte> bytes, ThreadPool& pool);

}  // namespace scorecast::shard
