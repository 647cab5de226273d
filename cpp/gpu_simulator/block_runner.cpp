#include "block_runner.h"

#include <algorithm>
#include <cstring>

#include "fiber.h"

namespace crayon {
namespace gpu_simulator {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr uint64_t kMostSteps = uint64_t(1) << 23;
constexpr uint64_t kAnything = 0xA5A5A5A5A5A5A5A5u;
constexpr size_t kMostMeetings = 64;
constexpr uint64_t kOneIn = 8;  // let_others switches to another lane once in this many calls, on average

thread_local BlockRunner* running = nullptr;

uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

std::string described(const Site& site) {
    return std::string(site.function) + ", line " + std::to_string(site.line);
}

}  // namespace

struct BlockRunner::Wait {
    Kind kind;
    Site site;
    uint64_t lanes;  // of the warp
    uint64_t value;
    uint32_t from;
    bool orders;  // orders memory

    bool is_same(const Wait& o) const { return kind == o.kind && site.place == o.site.place && lanes == o.lanes; }
};

struct BlockRunner::Lane {
    Lane(BlockRunner* of, uint32_t number, uint32_t warp_lanes)
        : runner(of), index(number), warp(number / warp_lanes), in_warp(number % warp_lanes) {}

    enum class State { can_go_on, waits, left };
    Fiber fiber{kStackBytes};
    BlockRunner* const runner;
    const uint32_t index, warp, in_warp;
    State state = State::left;
    bool is_fenced = false;
    Wait wait{};
    uint64_t result = 0, priority = 0;
};

// The state of the barriers of one set of lanes in a warp.
struct BlockRunner::Meeting {
    uint64_t lanes;
    uint64_t count;
    char tags[2];
};

struct BlockRunner::Warp {
    uint64_t waiting = 0;           // waiting lanes, except at a block's barrier
    uint64_t absent = 0;            // lanes that have exited or do not exist in the block
    std::vector<Meeting> meetings;  // allocated in advance: ThreadSanitizer sees what lanes allocate
};

BlockRunner::BlockRunner(Rules rules) : rules_(rules) {}
BlockRunner::~BlockRunner() = default;

BlockRunner& BlockRunner::current() {
    return *running;
}

std::string BlockRunner::run(uint32_t threads, uint64_t seed, void (*f)(void*), void* argument, Orders orders) {
    while (lanes_.size() < threads)
        lanes_.push_back(std::make_unique<Lane>(this, uint32_t(lanes_.size()), rules_.warp));
    Fiber scheduler;
    scheduler_ = &scheduler;
    f_ = f;
    argument_ = argument;
    orders_ = orders;
    threads_ = threads;
    in_block_ = left_ = 0;
    random_ = seed_ = seed;
    steps_ = barriers_ = 0;
    order_ = chance() % 4;
    error_.clear();
    ready_.clear();
    block_tags_ = std::make_unique<char[]>(2);
    warps_.clear();
    warps_.resize((threads + rules_.warp - 1) / rules_.warp);
    for (size_t i = 0; i < warps_.size(); ++i) {
        const uint64_t there = std::min<uint64_t>(rules_.warp, threads - i * rules_.warp);
        warps_[i].absent = there < 64 ? ~uint64_t(0) << there : 0;
        if (is_under_tsan()) warps_[i].meetings.reserve(kMostMeetings);
    }
    for (uint32_t i = 0; i < threads; ++i) {
        Lane* const lane = lanes_[i].get();
        lane->is_fenced = false;
        lane->fiber.start(&BlockRunner::lane_main, lane);
        make_ready(lane);
    }
    running = this;
    run_lanes();
    running = nullptr;
    if (!error_.empty())
        for (uint32_t i = 0; i < threads; ++i) lanes_[i]->fiber.abandon();
    return error_;
}

void BlockRunner::run_lanes() {
    while (left_ < threads_) {
        if (ready_.empty() && !go_on_without_all()) {
            error_ = "lanes wait for each other" + who_waits();
            return;
        }
        if (++steps_ > kMostSteps) {
            error_ = "lanes never end" + who_waits();
            return;
        }
        Lane* const lane = now_ = take_ready();
        lane->fiber.resume(scheduler_);
        if (!error_.empty()) return;
        if (lane->state == Lane::State::left)
            after_leaving(lane);
        else if (lane->state == Lane::State::waits)
            after_arriving(lane);
        if (!error_.empty()) return;
    }
}

uint64_t BlockRunner::chance() {
    return mixed(random_ += 0x9E3779B97F4A7C15u);
}

// A block uses one of four orders: a random ready lane, the first, the last, or fixed priorities.
void BlockRunner::make_ready(Lane* lane) {
    const uint64_t i = lane->index;
    lane->priority = order_ == 0 ? chance() : order_ == 1 ? ~i : order_ == 2 ? i : mixed(seed_ + i);
    lane->state = Lane::State::can_go_on;
    ready_.push_back(lane);
    std::push_heap(ready_.begin(), ready_.end(), [](Lane* a, Lane* b) { return a->priority < b->priority; });
}

BlockRunner::Lane* BlockRunner::take_ready() {
    std::pop_heap(ready_.begin(), ready_.end(), [](Lane* a, Lane* b) { return a->priority < b->priority; });
    Lane* const lane = ready_.back();
    ready_.pop_back();
    return lane;
}

// -- called by lanes, on their own stacks

void BlockRunner::lane_main(void* of) {
    Lane* const lane = static_cast<Lane*>(of);
    BlockRunner& runner = *lane->runner;
    tsan_acquire(runner.orders_.before);
    runner.f_(runner.argument_);
    tsan_release(runner.orders_.after);
    lane->state = Lane::State::left;
    runner.pause();
}

void BlockRunner::pause() {
    scheduler_->resume(&now_->fiber);
}

uint64_t BlockRunner::meet(const Wait& wait) {
    Lane* const lane = now_;
    lane->wait = wait;
    lane->state = Lane::State::waits;
    void* const tag = wait.orders && is_under_tsan() ? tag_of(wait) : nullptr;
    if (tag != nullptr) tsan_release(tag);
    pause();
    if (tag != nullptr) tsan_acquire(tag);
    return lane->result;
}

void* BlockRunner::tag_of(const Wait& wait) {
    if (wait.kind == Kind::block) return &block_tags_[barriers_ % 2];
    Meeting& here = meeting(now_->warp, wait.lanes);
    return &here.tags[here.count % 2];
}

uint32_t thread_index() {
    return BlockRunner::current().now_->index;
}
uint32_t lane_in_warp() {
    return BlockRunner::current().now_->in_warp;
}

void meet_in_block(const Site& site) {
    (void)BlockRunner::current().meet({BlockRunner::Kind::block, site, 0, 0, 0, true});
}
void meet_in_warp(const Site& site, uint64_t lanes) {
    BlockRunner& runner = BlockRunner::current();
    const bool orders = runner.now_->is_fenced;
    runner.now_->is_fenced = false;
    (void)runner.meet({BlockRunner::Kind::warp, site, lanes, 0, 0, orders});
}
void fence() {
    BlockRunner::current().now_->is_fenced = true;
}
uint64_t exchange(const Site& site, uint64_t lanes, uint64_t value, uint32_t from) {
    return BlockRunner::current().meet({BlockRunner::Kind::exchange, site, lanes, value, from, false});
}

void let_others() {
    BlockRunner& runner = BlockRunner::current();
    if (runner.chance() % kOneIn != 0) return;
    runner.make_ready(runner.now_);
    runner.pause();
}

// -- called by the scheduler when a lane has arrived

void BlockRunner::after_leaving(Lane* lane) {
    ++left_;
    warps_[lane->warp].absent |= uint64_t(1) << lane->in_warp;
    if (in_block_ > 0) {
        error_ = "lane " + std::to_string(lane->index) + " has exited while others wait for the block" + who_waits();
        return;
    }
    // Lanes of its warp need not wait for it any more.
    for (uint32_t i = 0; i < rules_.warp; ++i) {
        Lane* const other = lane_of(lane->warp, i);
        if (other != nullptr && other->state == Lane::State::waits) arrived_in_warp(other);
    }
}

void BlockRunner::after_arriving(Lane* lane) {
    if (lane->wait.kind == Kind::block) {
        arrived_in_block(lane);
        return;
    }
    if (!(lane->wait.lanes >> lane->in_warp & 1)) {
        error_ = "lane " + std::to_string(lane->index) + " does not name itself in " + described(lane->wait.site);
        return;
    }
    warps_[lane->warp].waiting |= uint64_t(1) << lane->in_warp;
    arrived_in_warp(lane);
}

void BlockRunner::arrived_in_block(Lane* lane) {
    ++in_block_;
    if (left_ > 0) {
        error_ = "lanes wait for the block, but others have exited" + who_waits();
        return;
    }
    if (in_block_ < threads_) return;
    for (uint32_t i = 0; i < threads_; ++i) {
        if (lanes_[i]->wait.is_same(lane->wait)) continue;
        error_ = "lanes wait for the block at different places" + who_waits();
        return;
    }
    in_block_ = 0;
    ++barriers_;
    for (uint32_t i = 0; i < threads_; ++i) make_ready(lanes_[i].get());
}

void BlockRunner::arrived_in_warp(Lane* lane) {
    const Warp& warp = warps_[lane->warp];
    if ((lane->wait.lanes & ~(warp.waiting | warp.absent)) != 0) return;
    const uint64_t here = lanes_beside(*lane);
    if ((lane->wait.lanes & ~(here | warp.absent)) == 0) finish(*lane, here);
}

// For HIP, if no other lane can run: the lanes that wait at one place continue, as if the others were inactive.
bool BlockRunner::go_on_without_all() {
    if (rules_.lockstep == Lockstep::named) return false;
    std::vector<Lane*> waiting;
    for (uint32_t i = 0; i < threads_; ++i) {
        Lane* const lane = lanes_[i].get();
        if (lane->state == Lane::State::waits && lane->wait.kind != Kind::block) waiting.push_back(lane);
    }
    if (waiting.empty()) return false;
    const Lane& any = *waiting[chance() % waiting.size()];
    finish(any, lanes_beside(any));
    return true;
}

void BlockRunner::finish(const Lane& lane, uint64_t lanes) {
    const uint32_t warp = lane.warp;
    const Kind kind = lane.wait.kind;
    warps_[warp].waiting &= ~lanes;
    if (kind == Kind::warp && is_under_tsan()) ++meeting(warp, lane.wait.lanes).count;
    const uint64_t nothing = rules_.lockstep == Lockstep::named ? kAnything : 0;
    for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
        Lane* const one = lane_of(warp, uint32_t(__builtin_ctzll(rest)));
        const uint32_t from = one->wait.from;
        one->result = from < 64 && (lanes >> from & 1) ? lane_of(warp, from)->wait.value : nothing;
    }
    for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) make_ready(lane_of(warp, uint32_t(__builtin_ctzll(rest))));
}

// Returns `lane`, and the lanes for which it waits that wait at the same place.
uint64_t BlockRunner::lanes_beside(const Lane& lane) const {
    uint64_t here = 0;
    for (uint64_t rest = lane.wait.lanes; rest != 0; rest &= rest - 1) {
        const uint32_t i = uint32_t(__builtin_ctzll(rest));
        const Lane* const other = lane_of(lane.warp, i);
        if (other != nullptr && other->state == Lane::State::waits && other->wait.is_same(lane.wait))
            here |= uint64_t(1) << i;
    }
    return here;
}

// Returns the lane with this index in a warp, or null if the block has no such thread.
BlockRunner::Lane* BlockRunner::lane_of(uint32_t warp, uint32_t index) const {
    const uint32_t thread = warp * rules_.warp + index;
    return index < rules_.warp && thread < threads_ ? lanes_[thread].get() : nullptr;
}

// Returns the entry of a set of lanes. Beyond kMostMeetings sets per warp, sets share the last entry, which can hide a
// race.
BlockRunner::Meeting& BlockRunner::meeting(uint32_t warp, uint64_t lanes) {
    std::vector<Meeting>& all = warps_[warp].meetings;
    for (Meeting& known : all)
        if (known.lanes == lanes) return known;
    if (all.size() < kMostMeetings) all.push_back({lanes, 0, {}});
    return all.back();
}

// Describes up to three barriers for an error message, each with the first lane that waits there.
std::string BlockRunner::who_waits() const {
    std::string text;
    std::vector<const Wait*> seen;
    for (uint32_t i = 0; i < threads_ && seen.size() < 3; ++i) {
        const Lane& lane = *lanes_[i];
        if (lane.state != Lane::State::waits) continue;
        const auto is_here = [&](const Wait* wait) { return wait->is_same(lane.wait); };
        if (std::any_of(seen.begin(), seen.end(), is_here)) continue;
        seen.push_back(&lane.wait);
        text += (seen.size() == 1 ? ": lane " : "; lane ") + std::to_string(i) + " in " + described(lane.wait.site);
    }
    return text;
}

}  // namespace gpu_simulator
}  // namespace crayon
