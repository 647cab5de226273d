#include "crayon/cartridge/mapped_file.h"

#include <cerrno>
#include <cstddef>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/error.h"

#if defined(CRAYON_GUARDS_READS)
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif

namespace crayon {

// Where the handler finds a map. Places are used again and never freed, and no lock is needed to get one: a handler
// cannot wait, nor can a child of fork() whose parent held it.
struct MappedFile::Place {
    std::atomic<uintptr_t> begin{0}, end{0};  // 0: free; begin kTaken: not known yet
    Place* next = nullptr;

    static constexpr uintptr_t kTaken = 1;
    static std::atomic<Place*> first;

    static Place* take();
    // True of an address in any map. While another thread gives up its map, or gets one, also of some that are in none.
    static bool may_have(uintptr_t address);
};

std::atomic<MappedFile::Place*> MappedFile::Place::first{nullptr};

MappedFile::Place* MappedFile::Place::take() {
    for (Place* place = first.load(); place != nullptr; place = place->next) {
        uintptr_t free = 0;
        if (place->begin.compare_exchange_strong(free, kTaken)) return place;
    }
    Place* const place = new Place;
    place->begin = kTaken;
    place->next = first.load();
    while (!first.compare_exchange_weak(place->next, place)) {
    }
    return place;
}

bool MappedFile::Place::may_have(uintptr_t address) {
    for (const Place* place = first.load(); place != nullptr; place = place->next)
        if (address >= place->begin.load() && address < place->end.load()) return true;
    return false;
}

namespace {

constexpr uint64_t kNothing = 0;

size_t page() {
#if defined(CRAYON_GUARDS_READS)
    return size_t(sysconf(_SC_PAGESIZE));
#else
    return 4096;
#endif
}

}  // namespace

void MappedFile::lose() const {
    lost_ = true;
    throw Error(ErrorKind::cartridge, path_ +
                                          ": cut or overwritten while it was in use. Open it again; to replace a "
                                          "cartridge, rename the new file over it");
}

void MappedFile::remember_ends() {
    constexpr size_t kWord = sizeof(uint64_t), kHead = offsetof(Header, checksum);
    const size_t page_size = page();
    const size_t words = map_.size / kWord;
    const uint64_t* const all = reinterpret_cast<const uint64_t*>(map_.data);
    if (words <= kHead / kWord) return;  // no cartridge
    // Of a last page of zeros the end will do: what is cut from them reads the same.
    const size_t page = (words * kWord - 1) / page_size * page_size / kWord;
    size_t tail = words - 1;
    while (tail > page && load(all + tail) == 0) --tail;
    if (load(all + tail) == 0) tail = words - 1;
    head_at_ = all + kHead / kWord;
    tail_at_ = all + tail;
    head_ = load(head_at_);
    tail_ = load(tail_at_);
}

#if defined(CRAYON_GUARDS_READS)

__thread ReadGuard* ReadGuard::innermost_ = nullptr;

namespace {

using Action = struct sigaction;

// What was there before, and what before that, when another handler was installed between ours and ours. Each is kept
// for ever: a handler may be at work with it.
struct Before {
    Action action;
    const Before* earlier;
};
std::atomic<const Before*> before{nullptr};

// The thread that gave a fault to what was there before.
std::atomic<pthread_t> giving{};
std::atomic<bool> is_giving{false};

bool gave_here() {
    return is_giving && pthread_equal(giving, pthread_self());
}

// The last signal that was given on, to whom, and how deep in the stack.
std::atomic<const void*> given{nullptr};
std::atomic<const Before*> given_to{nullptr};
std::atomic<uintptr_t> given_at{0};

// Who comes next for this signal. One that was installed between ours and ours may hand it back to us, further down in
// the stack: what was there before that one is next then. Null when nobody is left.
const Before* next_for(const void* context, uintptr_t here) {
    const bool is_back = given == context && here < given_at;
    const Before* const last = given_to;
    const Before* const next = !is_back ? before.load() : last != nullptr ? last->earlier : nullptr;
    given_to = next;
    given_at = here;
    given = context;
    return next;
}

void die_by(int signal) {
    Action usual{};
    usual.sa_handler = SIG_DFL;
    sigaction(signal, &usual, nullptr);
}

// As if this handler were not there. A fault happens again when its handler returns.
void give_on(int signal, siginfo_t* info, void* context) {
    const Before* const next = next_for(context, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
    const Action usual{};
    const Action* const action = next != nullptr ? &next->action : &usual;
    const bool is_fault = info->si_code > 0;
    const bool has_handler =
        (action->sa_flags & SA_SIGINFO) || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
    if (!has_handler) {
        if (!is_fault && action->sa_handler == SIG_IGN) return;
        die_by(signal);
        if (!is_fault) raise(signal);
        return;
    }
    // A handler that reports a crash puts back what it had found, which may be this one, and raises the signal again.
    if (!is_fault && gave_here()) {
        die_by(signal);
        raise(signal);
        return;
    }
    if (is_fault) {
        giving = pthread_self();
        is_giving = true;
    }
    if (action->sa_flags & SA_RESETHAND) die_by(signal);
    sigset_t blocked = action->sa_mask, kept;
    if (!(action->sa_flags & SA_NODEFER)) sigaddset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &kept);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, info, context);
    else
        action->sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &kept, nullptr);
    given = nullptr;
    if (is_fault) is_giving = false;
}

}  // namespace

void ReadGuard::handle(int signal, void* about, void* context) {
    const int error = errno;
    siginfo_t* const info = static_cast<siginfo_t*>(about);
    if (info->si_code > 0) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
        // Only a thread that reads our maps is asked for its guards: in others the first question could allocate.
        const bool is_ours = MappedFile::Place::may_have(address);
        for (ReadGuard* guard = is_ours ? innermost_ : nullptr; guard != nullptr; guard = guard->outer_) {
            const Bytes map = guard->file_.map_;
            if (address - reinterpret_cast<uintptr_t>(map.data) >= map.size) continue;
            guard->file_.lost_ = true;
            innermost_ = guard;
            siglongjmp(guard->home_, 1);
        }
    } else if (info->si_pid == getpid() && !gave_here() && innermost_ != nullptr) {
        // Guarded work raises no signals. A handler that was installed after this one took the fault, reported it, put
        // this one back, and raised it again (Python's faulthandler). Back to the fault, which comes here now.
        errno = error;
        return;
    }
    give_on(signal, info, context);
    errno = error;
}

MappedFile::MappedFile(Bytes map, std::string path)
    : map_(map), path_(std::move(path)), head_at_(&kNothing), tail_at_(&kNothing) {
    static constexpr auto handler = [](int signal, siginfo_t* info, void* context) {
        ReadGuard::handle(signal, info, context);
    };
    static void (*const entry)(int, siginfo_t*, void*) = handler;
    // Looked at for each map: others come and go, and some of them put back what they had found.
    Action now{};
    if (sigaction(SIGBUS, nullptr, &now) == 0 && !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == entry)) {
        before = new Before{now, before.load()};
        Action ours{};
        ours.sa_sigaction = entry;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&ours.sa_mask);
        sigaction(SIGBUS, &ours, nullptr);
    }
    place_ = Place::take();
    place_->end = uintptr_t(map.data) + map.size;
    place_->begin = uintptr_t(map.data);
}

#else

MappedFile::MappedFile(Bytes map, std::string path)
    : map_(map), path_(std::move(path)), head_at_(&kNothing), tail_at_(&kNothing) {}

#endif

MappedFile::~MappedFile() {
    if (place_ == nullptr) return;
    place_->end = 0;
    place_->begin = 0;
}

}  // namespace crayon
