// Scratches between calls: an engine's own, and the limit that they all have together.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace crayon {

class Scratch;
struct ScratchShelf;

// Giving and taking never wait and never fail: a child of fork() would wait for ever on a lock that a thread of its
// parent held, and a thread that finds its scratch late, or loses it, learns all words anew.
class ScratchPool {
  public:
    static constexpr size_t kSlots = 64;

    ScratchPool() = default;
    ~ScratchPool();
    ScratchPool(const ScratchPool&) = delete;

    // The scratch in slot `worker`, else any that there is, else a new one.
    std::unique_ptr<Scratch> take(size_t worker);
    // Keeps it where it was, or where there is room.
    void give(std::unique_ptr<Scratch> scratch) noexcept;

  private:
    ScratchShelf* shelf();  // null where there is no memory for one

    std::atomic<ScratchShelf*> shelf_{nullptr};  // none until something is given
};

}  // namespace crayon
