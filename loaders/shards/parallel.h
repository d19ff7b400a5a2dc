// The same work on many things, on a few threads.
#pragma once

#include <cstddef>
#include <functional>

namespace feedline {

// Calls work(0) .. work(count - 1), each once, from at most `threads` threads, in order of their beginning. Returns
// when all have ended. What the first to fail threw is thrown again; after it no further one begins.
void for_each_index(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace feedline
