// Binds models on text, for tests and tools. The functions keep the GIL, because a TextModel has a single ModelScratch.
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model_spec.h"
#include "crayon/cartridge/cartridge.h"
#include "crayon/json/json.h"
#include "crayon/models/models.h"

namespace py = pybind11;

namespace {

// Makes a cartridge that has only a model.
std::string compile_model(const crayon::ModelSpec& spec) {
    using crayon::Section;
    const uint32_t n = uint32_t(spec.tokens.size());
    crayon::Program program{};
    program.flags = crayon::kTextTokens;
    program.n_ids = n;
    program.model_size = program.vocab_size = spec.model_size;
    program.n_merges = uint32_t(spec.merges.size());
    std::vector<uint32_t> offsets{0};
    std::vector<uint8_t> flags;
    std::string bytes;
    for (uint32_t id = 0; id < n; ++id) {
        bytes += spec.tokens[id];
        offsets.push_back(uint32_t(bytes.size()));
        flags.push_back(spec.present[id] ? uint8_t(crayon::kPresent | crayon::kModel) : uint8_t(0));
    }
    crayon::CartridgeWriter writer;
    writer.add(Section::program, std::string(reinterpret_cast<const char*>(&program), sizeof program));
    writer.add(Section::components, "{\"model\":" + spec.options + "}");
    writer.add_array(Section::token_offsets, offsets);
    writer.add(Section::token_bytes, bytes);
    writer.add_array(Section::token_flags, flags);
    writer.add_array(Section::token_trim, std::vector<uint16_t>(2 * size_t(n)));
    crayon::add_model_sections(spec, &writer);
    return writer.finish({});
}

class TextModel {
  public:
    explicit TextModel(std::string cartridge) : file_(std::move(cartridge)) {
        cartridge_ = std::make_unique<crayon::Cartridge>(crayon::own_bytes(crayon::Bytes(file_)));
        crayon::verify_model_sections(*cartridge_);
        const crayon::json::Document document = crayon::json::parse(cartridge_->components.view());
        const crayon::json::Value& model = *document.root.find("model");
        options_ = crayon::json::serialize(model);
        model_ = crayon::make_model(model, *cartridge_, crayon::selected_kernels());
        scratch_ = model_->make_scratch();
    }
    static std::unique_ptr<TextModel> compile(const std::string& model) {
        const crayon::json::Document document = crayon::json::parse(model);
        return std::make_unique<TextModel>(compile_model(crayon::read_model_spec(document.root)));
    }

    const std::string& options() const { return options_; }
    size_t size() const { return cartridge_->program().model_size; }
    py::bytes cartridge() const { return py::bytes(file_); }

    py::list tokenize(const py::str& piece) {
        const auto text = piece.cast<std::string_view>();
        run(text);
        py::list list(tokens_.size());
        for (size_t i = 0; i < tokens_.size(); ++i) {
            const crayon::ModelToken& token = tokens_[i];
            const std::string_view value = token.own_text ? text.substr(token.start, token.end - token.start)
                                                          : cartridge_->bytes_of(token.id).view();
            list[i] =
                py::make_tuple(token.id, py::str(value.data(), value.size()), py::make_tuple(token.start, token.end));
        }
        return list;
    }

    size_t count(const std::string& text) {
        run(text);
        return tokens_.size();
    }

  private:
    void run(std::string_view text) {
        tokens_.clear();
        if (!text.empty()) model_->tokenize(text, scratch_.get(), &tokens_);
    }

    std::string file_, options_;
    std::unique_ptr<crayon::Cartridge> cartridge_;
    std::unique_ptr<crayon::Model> model_;
    std::unique_ptr<crayon::ModelScratch> scratch_;
    std::vector<crayon::ModelToken> tokens_;
};

}  // namespace

void bind_models(py::module_& m) {
    py::class_<TextModel>(m, "TextModel", "A model on text, compiled from the \"model\" of a tokenizer.json.")
        .def(py::init(&TextModel::compile), py::arg("model"))
        .def_static(
            "open", [](const py::bytes& cartridge) { return std::make_unique<TextModel>(std::string(cartridge)); },
            py::arg("cartridge"), "Open a model from its cartridge. Raise CartridgeError if the cartridge is damaged.")
        .def_property_readonly("options", &TextModel::options, "The model without vocabulary and merges, as JSON.")
        .def_property_readonly("cartridge", &TextModel::cartridge, "The cartridge of the model.")
        .def("__len__", &TextModel::size)
        .def("tokenize", &TextModel::tokenize, py::arg("piece"),
             "Return (id, string, start, end) of each token; start and end are bytes of the piece.")
        .def("count", &TextModel::count, py::arg("piece"), "Return the number of tokens of the piece.");
}
