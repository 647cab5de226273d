// Reading a mapped file that another process may cut, or write over, at any time.
//
// The next read beyond the new end is SIGBUS. Asking for the size before each call would cost more than many calls, and
// would still be too early. So whoever reads a map does it in read_mapped(): the handler of SIGBUS finds the file that
// the address belongs to, and goes back there, out of the middle of the work, which becomes an Error(cartridge) that
// names the file.
//
// What the work had begun is abandoned: no destructor of it runs, and its memory is lost. Formally a jump over frames
// with destructors is undefined in C++; what GCC and Clang do on POSIX is to restore the registers, so the frames are
// as if they had never been. That is sound if nothing of them is used again, so work that is guarded
// - names all that it changes and that outlives it (`made`); that is made anew, its memory lost, too;
// - holds no lock while it reads the map, starts no thread, and calls nobody that could (no Python: ReadPause).
//
// A file can lose less than a page. Then the rest of its last page reads as zeros, without a signal; and a file that
// was cut can get other bytes before anybody reads it. So the work is done between two looks at both ends of the file:
// the checksum of the header, which is another one in any other cartridge, and the last word that is not zero. Zeros
// that are read between the looks do no harm: they are in range as ids, ranks and places in tables, and what counts on
// an order (token_offsets) takes the difference with run_length().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "crayon/support/bytes.h"

#if !defined(_WIN32)
#include <csetjmp>
#define CRAYON_GUARDS_READS 1
#endif

namespace crayon {

// A map, known to the handler while this lives. The memory is the caller's, page-aligned, and unmapped after this.
class MappedFile {
  public:
    MappedFile(Bytes map, std::string path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    // Remembers what both ends say; reads the map.
    void remember_ends();
    // Error(cartridge), now and for ever after, if the ends say something else; reads the map.
    void check() const {
        if (is_lost() || load(head_at_) != head_ || load(tail_at_) != tail_) lose();
    }
    bool is_lost() const { return lost_.load(std::memory_order_relaxed); }
    [[noreturn]] void lose() const;

  private:
    friend class ReadGuard;
    struct Place;  // in the handler's list

    static uint64_t load(const uint64_t* at) { return *static_cast<const volatile uint64_t*>(at); }

    const Bytes map_;
    const std::string path_;
    Place* place_ = nullptr;
    const uint64_t *head_at_, *tail_at_;
    uint64_t head_ = 0, tail_ = 0;
    mutable std::atomic<bool> lost_{false};
};

#if defined(CRAYON_GUARDS_READS)

// Where a thread goes on that reads what is no longer there. Guards of a thread lie within each other.
class ReadGuard {
  public:
    // The place of the thread's innermost guard.
    static ReadGuard** of_thread() { return &innermost_; }

    ReadGuard(const MappedFile& file, ReadGuard** innermost)
        : file_(file), innermost_place_(innermost), outer_(*innermost) {
        *innermost = this;
    }
    ~ReadGuard() { *innermost_place_ = outer_; }
    ReadGuard(const ReadGuard&) = delete;
    ReadGuard& operator=(const ReadGuard&) = delete;

    bool is_for(const MappedFile& file) const { return &file_ == &file; }
    // Runs `work`, and `recover` where it was left.
    template <typename Work, typename Recover>
    [[gnu::noinline]] static void run(const MappedFile& file, ReadGuard** innermost, Work&& work, Recover&& recover) {
        ReadGuard guard(file, innermost);
        if (sigsetjmp(guard.home_, 0) != 0) {  // the handler changes no mask, so none is kept
            recover();
            file.lose();
        }
        work();
    }

  private:
    friend class ReadPause;
    friend class MappedFile;

    static void handle(int signal, void* info, void* context);

    static __thread ReadGuard* innermost_;

    const MappedFile& file_;
    ReadGuard** const innermost_place_;
    ReadGuard* const outer_;
    sigjmp_buf home_;
};

// While it lives, the thread is not in the guards that it is in: for calls from guarded work to code that must not be
// left in its middle. Such code may not read a map, other than in guards of its own.
class ReadPause {
  public:
    ReadPause() : paused_(ReadGuard::innermost_) { ReadGuard::innermost_ = nullptr; }
    ~ReadPause() { ReadGuard::innermost_ = paused_; }
    ReadPause(const ReadPause&) = delete;
    ReadPause& operator=(const ReadPause&) = delete;

  private:
    ReadGuard* const paused_;
};

#else

// A file that is mapped cannot be cut here.
struct ReadPause {
    ReadPause() {}
};

#endif

// Makes an object anew where it is, without a look at what it was.
template <typename T>
void abandon(T* object) {
    if (object != nullptr) ::new (static_cast<void*>(object)) T();
}

// Runs work(), which reads `file` (null: memory that cannot be lost) and changes nothing that outlives it but what
// `made` points to. Error(cartridge) if the file was cut or written over, before or meanwhile. In work that is guarded
// already this is nothing more than work().
template <typename Work, typename... Made>
auto read_mapped(const MappedFile* file, Work&& work, Made*... made) -> decltype(work()) {
#if defined(CRAYON_GUARDS_READS)
    using Result = decltype(work());
    if (file == nullptr) return work();
    ReadGuard** const innermost = ReadGuard::of_thread();
    if (*innermost != nullptr && (*innermost)->is_for(*file)) return work();
    if constexpr (!std::is_void_v<Result>) {
        std::optional<Result> result;
        read_mapped(
            file, [&] { result.emplace(work()); }, made..., &result);
        return std::move(*result);
    } else {
        std::exception_ptr failure;
        try {
            const auto looked_after = [&] {
                file->check();
                work();
                std::atomic_thread_fence(std::memory_order_acquire);  // the second look is the last read
                file->check();
            };
            return ReadGuard::run(*file, innermost, looked_after, [&] { (abandon(made), ...); });
        } catch (...) {
            failure = std::current_exception();
        }
        // What failed may have read what is not there.
        if (!file->is_lost())
            ReadGuard::run(
                *file, innermost, [&] { file->check(); }, [] {});
        std::rethrow_exception(failure);
    }
#else
    (void)file;
    ((void)made, ...);
    return work();
#endif
}

// From one of two places to the other, in an order that a cut file need not have.
template <typename T>
T run_length(T start, T end) {
    return end < start ? T(0) : T(end - start);
}

}  // namespace crayon
