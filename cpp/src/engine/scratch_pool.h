// Keeps each engine's scratches (the working memory of threads) between calls. One limit applies to all engines
// together.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace crayon {

class Scratch;
struct ScratchShelf;

// take() and give() need no lock, because in the child of fork() a lock could stay taken for ever. A thread that does
// not get its scratch back looks all words up anew.
class ScratchPool {
  public:
    static constexpr size_t kSlots = 64;

    ScratchPool() = default;
    ~ScratchPool();
    ScratchPool(const ScratchPool&) = delete;

    // Returns the scratch in slot `worker`, another one, or a new one.
    std::unique_ptr<Scratch> take(size_t worker);
    // Keeps the scratch in its slot, or in a free one.
    void give(std::unique_ptr<Scratch> scratch) noexcept;

  private:
    ScratchShelf* shelf();  // null if memory is short

    std::atomic<ScratchShelf*> shelf_{nullptr};  // created when the first scratch is given
};

}  // namespace crayon
