#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#ifndef __x86_64__
#include <ucontext.h>
#endif

// ThreadSanitizer's interface for fibers; null without ThreadSanitizer.
extern "C" {
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_acquire(void* place);
__attribute__((weak)) void __tsan_release(void* place);
}

#ifdef __x86_64__
// Saves the registers that a call preserves (System V) to *from, and continues where `to` was saved. The C library's
// swapcontext also saves the signal mask by a system call, which takes ten times as long.
extern "C" __attribute__((visibility("hidden"))) void crayon_switch_stack(void** from, void* to);
asm(R"(
    .text
    .hidden crayon_switch_stack
    .globl crayon_switch_stack
    .type crayon_switch_stack, @function
crayon_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size crayon_switch_stack, . - crayon_switch_stack
)");
#endif

namespace crayon {
namespace gpu_simulator {
namespace {

constexpr unsigned kOrdersNothing = 1;  // a plain switch: flag of __tsan_switch_to_fiber

thread_local Fiber* entered = nullptr;

}  // namespace

#ifdef __x86_64__
struct Fiber::Context {
    void* top;
};
#else
struct Fiber::Context {
    ucontext_t kept;
};
#endif

Fiber::Fiber() : context_(new Context()) {
    if (__tsan_get_current_fiber != nullptr) tsan_ = __tsan_get_current_fiber();
}

Fiber::Fiber(size_t stack_bytes) : stack_bytes_(stack_bytes), context_(new Context()) {
    stack_ = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack_ == MAP_FAILED) {
        delete context_;
        throw std::bad_alloc();
    }
    (void)mprotect(stack_, size_t(sysconf(_SC_PAGESIZE)), PROT_NONE);  // guard page against overflow
}

Fiber::~Fiber() {
    if (stack_ != nullptr) {
        abandon();
        munmap(stack_, stack_bytes_);
    }
    delete context_;
}

void Fiber::start(void (*function)(void*), void* argument) {
    if (tsan_ == nullptr && __tsan_create_fiber != nullptr) tsan_ = __tsan_create_fiber(0);
    function_ = function;
    argument_ = argument;
#ifdef __x86_64__
    void** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + stack_bytes_);
    *--top = nullptr;  // a return address for `enter`: the stack is as after a call
    *--top = reinterpret_cast<void*>(&Fiber::enter);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    context_->top = top;
#else
    getcontext(&context_->kept);
    context_->kept.uc_stack.ss_sp = stack_;
    context_->kept.uc_stack.ss_size = stack_bytes_;
    context_->kept.uc_link = nullptr;
    makecontext(&context_->kept, &Fiber::enter, 0);
#endif
}

void Fiber::resume(Fiber* from) {
    if (tsan_ != nullptr) __tsan_switch_to_fiber(tsan_, kOrdersNothing);
    entered = this;
#ifdef __x86_64__
    crayon_switch_stack(&from->context_->top, context_->top);
#else
    swapcontext(&from->context_->kept, &context_->kept);
#endif
}

void Fiber::abandon() {
    if (tsan_ != nullptr) __tsan_destroy_fiber(tsan_);
    tsan_ = nullptr;
}

void Fiber::enter() {
    Fiber* const self = entered;
    self->function_(self->argument_);
    std::abort();
}

bool is_under_tsan() {
    return __tsan_create_fiber != nullptr;
}

void tsan_release(void* place) {
    if (__tsan_release != nullptr) __tsan_release(place);
}

void tsan_acquire(void* place) {
    if (__tsan_acquire != nullptr) __tsan_acquire(place);
}

}  // namespace gpu_simulator
}  // namespace crayon
