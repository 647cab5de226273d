// Encodes a text of any length through a window that moves over it, with the ids that encoding the whole would give.
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
    bool add_special_tokens = false;  // the post-processor's, at the very beginning and the very end
    bool special_as_text = false;
    bool offsets = false;
};

// What one window gave. The memory belongs to leases of the encoder's pool.
struct StreamChunk {
    size_t consumed = 0;  // bytes of the window; 0: a larger one is needed
    size_t n_ids = 0;
    BufferPool::Lease ids;      // n_ids int32_t
    BufferPool::Lease offsets;  // n_ids pairs of int64_t, if asked for: the bytes of the stream that a token stands for
    const int32_t* id_data() const { return static_cast<const int32_t*>(ids.data()); }
};

// One stream; for one thread at a time.
class StreamEncoder {
  public:
    StreamEncoder(std::shared_ptr<const Engine> engine, const StreamOptions& options);
    ~StreamEncoder();

    // Whether texts have seams (seams.h). If not, a window is used up only when it is the last one, and has to be the
    // whole text: right, but not in constant memory. That is so where a component has no proof of where it may be cut
    // (a pattern of the user's own, text that the model takes whole and may join anywhere, ...) or the post-processor
    // does more than to put ids around. A text may have no seam for long, too: a megabyte of one letter.
    bool streams() const;
    // Encodes the window up to its last seam, or all of it if it is the last. It begins with the first byte that was
    // not consumed yet. Offsets are those of an Encoding, as the bytes of its characters. Error(utf8), with the place
    // in the stream, where it is no text; a character that the window's end cuts is none only in the last one.
    StreamChunk encode(Bytes window, bool is_last);
    // Bytes consumed so far.
    uint64_t position() const { return position_; }

  private:
    size_t whole_characters(Bytes window, bool is_last) const;
    void encode_text(Bytes text, bool is_last, IdBuffer* ids, std::vector<Offset>* offsets);

    const std::shared_ptr<const Engine> engine_;
    const StreamOptions options_;
    const std::unique_ptr<const Seams> seams_;
    BufferPool pool_;
    uint64_t position_ = 0;
    bool is_begun_ = false, has_tokens_ = false, is_done_ = false;
};

}  // namespace crayon
