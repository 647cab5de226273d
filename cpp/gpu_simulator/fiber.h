// A stack that a function runs on until it hands over to another one: a thread of the simulated GPU. ThreadSanitizer,
// where it is in the process, takes each for a thread.
#pragma once

#include <cstddef>

namespace crayon {
namespace gpu_simulator {

class Fiber {
  public:
    Fiber();  // of the stack that this is called on
    explicit Fiber(size_t stack_bytes);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // What `resume` runs next, from its beginning, on an empty stack: it must hand over at its end and not return.
    void start(void (*function)(void*), void* argument);
    // Before the next `start`, where the function was left in its middle: it will not go on.
    void abandon();
    // From `from`, which runs now, until somebody resumes that.
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

// For ThreadSanitizer: what was before a `release` of a place is before what is after an `acquire` of it that comes
// later. Nothing where it is not in the process.
bool is_under_tsan();
void tsan_release(void* place);
void tsan_acquire(void* place);

}  // namespace gpu_simulator
}  // namespace crayon
