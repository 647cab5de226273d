// Binds traces (trace.h), which the inspector gets as plain dicts and lists.
#include "bindings/bindings.h"
#include "crayon/trace/trace.h"

namespace crayon::python {
namespace {

py::object id_or_none(int64_t id) {
    return id < 0 ? py::object(py::none()) : py::int_(id);
}

const char* name_of(TraceToken::Kind kind) {
    switch (kind) {
        case TraceToken::Kind::token:
            return "token";
        case TraceToken::Kind::byte:
            return "byte";
        default:
            return "unknown";
    }
}

const char* name_of(PieceTrace::Shortcut shortcut) {
    switch (shortcut) {
        case PieceTrace::Shortcut::whole_token:
            return "whole_token";
        case PieceTrace::Shortcut::word_table:
            return "word_table";
        default:
            return nullptr;
    }
}

py::dict dict_of(const TraceToken& token);
py::dict dict_of(const TraceMerge& merge);
py::dict dict_of(const TraceStep& step);
py::dict dict_of(const TracePathStep& step);
py::dict dict_of(const TraceWalk& walk);
py::dict dict_of(const TracePiece& piece);
py::dict dict_of(const TracedPart& part);

template <typename T>
py::list dicts_of(const std::vector<T>& items) {
    py::list out(items.size());
    for (size_t i = 0; i < items.size(); ++i) out[i] = dict_of(items[i]);
    return out;
}

py::dict dict_of(const TraceToken& token) {
    py::dict out;
    out["id"] = token.id;
    out["start"] = token.start;
    out["end"] = token.end;
    out["kind"] = name_of(token.kind);
    return out;
}

py::dict dict_of(const TraceMerge& merge) {
    py::dict out;
    out["rank"] = merge.rank;
    out["position"] = merge.position;
    out["left"] = merge.left;
    out["right"] = merge.right;
    out["product"] = merge.product;
    return out;
}

py::dict dict_of(const TraceStep& step) {
    py::dict out;
    out["byte"] = step.byte;
    out["node"] = id_or_none(step.node);
    out["id"] = id_or_none(step.id);
    return out;
}

py::dict dict_of(const TracePathStep& step) {
    py::dict out = dict_of(step.token);
    out["score"] = step.score;
    return out;
}

py::dict dict_of(const TraceWalk& walk) {
    py::dict out;
    out["start"] = walk.start;
    out["end"] = walk.end;
    out["prefix"] = walk.prefix;
    out["suffix"] = walk.suffix;
    out["steps"] = dicts_of(walk.steps);
    out["tokens"] = dicts_of(walk.tokens);
    out["joins_unknown"] = walk.joins_unknown;
    return out;
}

py::dict dict_of(const TracePiece& piece) {
    py::dict out;
    out["start"] = piece.start;
    out["end"] = piece.end;
    out["original"] = py::make_tuple(piece.original_start, piece.original_end);
    return out;
}

py::dict dict_of(const TracedPart& part) {
    py::dict out;
    out["added"] = part.added ? py::object(py::int_(*part.added)) : py::none();
    out["start"] = part.start;
    out["end"] = part.end;
    out["normalized"] = py::bytes(part.normalized);
    out["text"] = py::bytes(part.text);
    out["pieces"] = dicts_of(part.pieces);
    py::list runs;
    for (const Piece& run : part.runs) runs.append(py::make_tuple(run.start, run.end));
    out["runs"] = runs;
    return out;
}

py::dict dict_of(const PieceTrace& trace) {
    py::dict out;
    out["is_too_long"] = trace.is_too_long;
    out["is_random"] = trace.is_random;
    out["shortcut"] = name_of(trace.shortcut);
    out["symbols"] = dicts_of(trace.symbols);
    out["dropped"] = trace.dropped;
    out["merges"] = dicts_of(trace.merges);
    out["walks"] = dicts_of(trace.walks);
    out["path"] = dicts_of(trace.path);
    out["score"] = trace.path.empty() ? py::object(py::none()) : py::float_(trace.score);
    out["tokens"] = dicts_of(trace.tokens);
    return out;
}

}  // namespace

void bind_trace(py::module_& m, EngineClass& c) {
    py::module_ testing = m.def_submodule("_testing");
    m.attr("TRACE_PIECE_BYTES") = kTracePieceBytes;
    testing.attr("TRACE_RUN_BYTES") = kTraceRunBytes;
    testing.attr("TRACE_STEPS") = kTraceSteps;
    c.def(
        "trace_parts",
        [](const Engine& self, py::object text, bool as_text) {
            Texts texts(false);
            const Bytes bytes = texts.add(text, "text", true);
            std::vector<TracedPart> parts;
            {
                const py::gil_scoped_release release;
                parts = trace_parts(self, bytes, as_text);
            }
            return dicts_of(parts);
        },
        py::arg("text"), py::arg("special_as_text") = false);
    c.def(
        "trace_raw_parts",
        [](const Engine& self, const py::bytes& data) {
            return dicts_of(trace_raw_parts(self, std::string_view(data)));
        },
        py::arg("data"));
    c.def(
        "trace_piece",
        [](const Engine& self, const py::bytes& piece) {
            const std::string_view bytes(piece);
            PieceTrace trace;
            {
                const py::gil_scoped_release release;
                trace = trace_piece(self, bytes);
            }
            return dict_of(trace);
        },
        py::arg("piece"));
    c.def(
        "trace_longest_match",
        [](const Engine& self, const py::bytes& run) {
            return dicts_of(trace_longest_match(self, std::string_view(run)));
        },
        py::arg("run"));
    testing.def("model_type", &trace_model_type, py::arg("engine"));
}

}  // namespace crayon::python
