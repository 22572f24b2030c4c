#pragma once

#include <cstddef>
#include <span>

#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Brings the pages of `bytes` into memory, so that using them later costs no page fault. Writes a
/// zero into each page, so the bytes must be zero still, or what they hold must not matter: reading
/// a new page first would cost a second fault when it is written. The pool's threads share the
/// work, as they share the rows of a pass: which thread will use a page is not known beforehand.
void TouchPages(std::span<std::byte> bytes, ThreadPool& pool);

/// The same for memory that other processes share, which may be writing it: only reads it.
void TouchPagesToRead(std::span<const std::byte> bytes, ThreadPool& pool);

}  // namespace scorecast::shard
