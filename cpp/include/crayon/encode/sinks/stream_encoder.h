// Encodes a text of any length through a moving window. The ids are those of encoding the whole text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/buffer_pool.h"
#include "crayon/support/bytes.h"

namespace crayon {

class Seams;

struct StreamOptions {
    bool add_special_tokens = false;  // whether to put the post-processor's special tokens around the whole stream
    bool special_as_text = false;
    bool offsets = false;
};

// The result for one window. Leases of the encoder's pool own the memory.
struct StreamChunk {
    size_t consumed = 0;  // bytes of the window; 0: the window must grow
    size_t n_ids = 0;
    BufferPool::Lease ids;      // n_ids int32_t
    BufferPool::Lease offsets;  // n_ids pairs of int64_t, if requested: the stream's bytes [start, end) of each token
    const int32_t* id_data() const { return static_cast<const int32_t*>(ids.data()); }
};

// One stream. Use it from one thread at a time.
class StreamEncoder {
  public:
    StreamEncoder(std::shared_ptr<const Engine> engine, const StreamOptions& options);
    ~StreamEncoder();

    // Whether texts have seams (seams.h). Without seams, `encode` consumes only the last window, which must then be the
    // whole text: exact, but not in constant memory. Components without a proof of seams are custom patterns, models
    // that may join a text anywhere, and post-processors that do more than surround. Even if texts have seams, a long
    // part of a text may have none, such as a megabyte of one letter.
    bool streams() const;
    // Encodes the window up to its last seam, or all of it if `is_last`. The window starts at the first unconsumed
    // byte. Offsets count bytes of the stream; they match an Encoding's offsets in characters. Error(utf8) gives the
    // position in the stream of the first invalid byte. A character cut by the end of the window is invalid only in the
    // last window.
    StreamChunk encode(Bytes window, bool is_last);
    // Bytes consumed so far.
    uint64_t position() const { return position_; }

  private:
    size_t whole_characters(Bytes window, bool is_last) const;

    const std::shared_ptr<const Engine> engine_;
    const StreamOptions options_;
    const std::unique_ptr<const Seams> seams_;
    BufferPool pool_;
    uint64_t position_ = 0;
    bool is_begun_ = false, has_tokens_ = false, is_done_ = false;
};

}  // namespace crayon
