#include "post_program.h"

#include "crayon/error.h"

namespace crayon {
namespace {

void write_pieces(const std::vector<TemplatePiece>& pieces, std::vector<uint32_t>* out) {
    out->push_back(uint32_t(pieces.size()));
    for (const TemplatePiece& piece : pieces) {
        out->insert(out->end(), {piece.is_sequence, piece.sequence, piece.type_id, uint32_t(piece.ids.size())});
        out->insert(out->end(), piece.ids.begin(), piece.ids.end());
    }
}

class Reader {
  public:
    Reader(Array<uint32_t> words, uint32_t n_ids) : words_(words), n_ids_(n_ids) {}

    uint32_t word() {
        if (at_ == words_.size) throw Error(ErrorKind::cartridge, "section post_processor is cut");
        return words_[at_++];
    }
    uint32_t below(uint32_t limit) {
        const uint32_t value = word();
        if (value >= limit) throw Error(ErrorKind::cartridge, "section post_processor has a value out of range");
        return value;
    }
    int32_t id() { return int32_t(below(n_ids_)); }
    // A count of things that each take at least one more word.
    uint32_t count() { return below(uint32_t(words_.size - at_) + 1); }
    std::vector<TemplatePiece> pieces() {
        std::vector<TemplatePiece> out(count());
        for (TemplatePiece& piece : out) {
            piece.is_sequence = below(2) != 0;
            piece.sequence = below(2);
            piece.type_id = word();
            piece.ids.resize(count());
            for (int32_t& id : piece.ids) id = this->id();
        }
        return out;
    }
    void end() const {
        if (at_ != words_.size) throw Error(ErrorKind::cartridge, "section post_processor has words left over");
    }

  private:
    Array<uint32_t> words_;
    uint32_t n_ids_;
    size_t at_ = 0;
};

}  // namespace

std::vector<uint32_t> write_post_program(const PostProcessor& processor) {
    std::vector<uint32_t> out{uint32_t(processor.steps.size())};
    for (const PostProcessStep& step : processor.steps) {
        const uint32_t flags = (step.add_prefix_space ? 1u : 0u) | (step.trim_offsets ? 2u : 0u);
        out.insert(out.end(), {uint32_t(step.kind), flags, uint32_t(step.sep), uint32_t(step.cls)});
        write_pieces(step.single, &out);
        write_pieces(step.pair, &out);
    }
    return out;
}

PostProcessor read_post_program(Array<uint32_t> words, uint32_t n_ids) {
    Reader in(words, n_ids);
    PostProcessor processor;
    processor.steps.resize(in.count());
    for (PostProcessStep& step : processor.steps) {
        const uint32_t kind = in.below(4);
        if (kind == 0) throw Error(ErrorKind::cartridge, "section post_processor has a step of no kind");
        step.kind = PostProcessStep::Kind(kind);
        const uint32_t flags = in.below(4);
        step.add_prefix_space = flags & 1;
        step.trim_offsets = flags & 2;
        step.sep = in.id();
        step.cls = in.id();
        step.single = in.pieces();
        step.pair = in.pieces();
    }
    in.end();
    return processor;
}

}  // namespace crayon
