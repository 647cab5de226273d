// A stack for a function that switches to other fibers. Each fiber is a thread of the simulated GPU. ThreadSanitizer,
// if present, treats it as a thread.
#pragma once

#include <cstddef>

namespace crayon {
namespace gpu_simulator {

class Fiber {
  public:
    Fiber();  // the fiber of the current stack
    explicit Fiber(size_t stack_bytes);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Sets the function that the next `resume` runs on an empty stack. The function must not return: it ends by
    // switching to another fiber.
    void start(void (*function)(void*), void* argument);
    // Gives up a function that did not finish and will not be resumed. Call this before the next `start`.
    void abandon();
    // Switches from `from`, which is running, to this fiber. Returns when `from` is resumed.
    void resume(Fiber* from);

  private:
    struct Context;
    static void enter();

    void* stack_ = nullptr;
    size_t stack_bytes_ = 0;
    Context* context_;
    void* tsan_ = nullptr;
    void (*function_)(void*) = nullptr;
    void* argument_ = nullptr;
};

// For ThreadSanitizer: code before a `release` of an address happens before code after a later `acquire` of it. No
// effect without ThreadSanitizer.
bool is_under_tsan();
void tsan_release(void* place);
void tsan_acquire(void* place);

}  // namespace gpu_simulator
}  // namespace crayon
