// precast chat BUNDLE
#include <cerrno>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "cli/bundle_options.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/generation_options.hpp"
#include "cli/result_json.hpp"
#include "cli/signals.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

struct Options {
  BundleOptions bundle;
  GenerationOptions generation;
  std::string system;
};

// Lines of stdin, and Ctrl-C while one is waited for.
class Lines {
 public:
  explicit Lines(const util::CancelToken& cancel) : cancel_(cancel) {}

  // nullopt: the end (Ctrl-D), or cancelled.
  std::optional<std::string> next() {
    for (;;) {
      const std::size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      if (!read_more()) break;
    }
    if (buffer_.empty() || cancel_.cancelled()) return std::nullopt;
    return std::exchange(buffer_, {});
  }

 private:
  bool read_more() {
    pollfd waiting[] = {{STDIN_FILENO, POLLIN, 0}, {cancel_.descriptor(), POLLIN, 0}};
    while (::poll(waiting, 2, -1) < 0) {
      if (errno != EINTR) return false;
    }
    if (cancel_.cancelled()) return false;
    char block[4096];
    const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
    if (count <= 0) return false;
    buffer_.append(block, static_cast<std::size_t>(count));
    return true;
  }

  const util::CancelToken& cancel_;
  std::string buffer_;
};

class Chat {
 public:
  Chat(Context& context, genai::Session& session, const GenerationConfig& config, const std::string& system)
      : context_(context), session_(session), config_(config), system_(system), lines_(context.cancel) {
    interactive_ = ::isatty(STDIN_FILENO) == 1;
    reset();
  }

  int run() {
    if (interactive_) context_.output.note("/reset forgets what was said, Ctrl-C stops an answer, Ctrl-D leaves");
    for (;;) {
      if (interactive_) context_.output.prompt("> ");
      const auto line = lines_.next();
      if (!line) break;
      const std::string_view words = util::trim(*line);
      if (words.empty()) continue;
      if (words == "/reset") {
        reset();
        context_.output.note("forgotten");
      } else {
        answer(*line);
      }
      if (context_.output.failed()) return kFailed;
    }
    if (interactive_) context_.output.prompt("\n");
    if (context_.output.json) {
      nlohmann::json json = document("chat");
      json["turns"] = turns_;
      json["stages"] = stages_json(session_.prepared());
      add_route_json(json, session_.prepared());
      context_.output.machine_json(json);
    }
    return context_.cancel.cancelled() ? kInterrupted : code_;
  }

 private:
  void reset() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
  }

  // The next question can be another one: an error ends only this turn.
  void refuse(const Error& error) {
    context_.output.error(error);
    turns_.push_back({{"error", to_json(error)}});
    code_ = exit_code_of(error, context_.options.strict);
  }

  void answer(const std::string& question) {
    if (!util::is_utf8(question)) return refuse({ErrorCode::bad_input, "the line is not UTF-8", {}, {}});
    messages_.push_back({"user", question});
    util::CancelToken stop;
    genai::GenerationRequest request;
    request.prompt.messages = messages_;
    request.config = config_;
    request.on_text = [&](std::string_view text) {
      if (!context_.output.json) context_.output.machine(text);
      return !stop.cancelled() && !context_.output.failed();
    };
    interrupt_instead(&stop);
    auto done = session_.generate(request);
    interrupt_instead(nullptr);
    if (!done) {
      messages_.pop_back();
      if (done.error().code == ErrorCode::bad_input) done.error().hint = "shorten it, or forget what was said: /reset";
      return refuse(done.error());
    }
    if (!context_.output.json) context_.output.machine("\n");
    for (const std::string& warning : done->generation.warnings) context_.output.warn(warning);
    if (context_.options.verbosity > 0) context_.output.note(statistics(done->generation, done->timing));
    turns_.push_back({{"user", question},
                      {"assistant", done->generation.text},
                      {"generated_tokens", done->generation.token_ids.size()},
                      {"prompt_tokens", done->generation.prompt_tokens},
                      {"finish_reason", std::string(to_string(done->generation.finish_reason))}});
    messages_.push_back({"assistant", done->generation.text});
  }

  Context& context_;
  genai::Session& session_;
  const GenerationConfig& config_;
  const std::string& system_;
  Lines lines_;
  bool interactive_ = false;
  int code_ = kDone;  // of the last turn that did not work
  std::vector<ChatMessage> messages_;
  nlohmann::json turns_ = nlohmann::json::array();
};

int run_chat(Context& context, const Options& options, const GenerationConfig& config) {
  if (const auto checked = genai::check_config(config); !checked) return report_error(context, "chat", checked.error());
  const auto session = load_session(context, options.bundle);
  if (!session) return report_error(context, "chat", session.error());
  const auto owners = (*session)->take_private_owners();  // what deletes private folders on return
  return Chat(context, **session, config, options.system).run();
}

}  // namespace

void add_chat_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("chat", "A conversation with a language-model bundle");
  command->fallthrough();
  add_bundle_options(*command, options->bundle);
  command->add_option("--system", options->system, "A system message before everything")->type_name("TEXT");
  add_generation_options(*command, options->generation);
  command->footer(
      "Examples:\n"
      "  precast chat bundle\n"
      "  precast chat bundle --ep openvino --compile --system 'Answer in one sentence.'\n"
      "  printf 'Hello\\nWho are you?\\n' | precast chat bundle --json\n\n"
      "Everything that was said is sent again each turn. /reset forgets it, Ctrl-C stops an answer, Ctrl-D leaves.");
  command->callback([options, command, &chosen] {
    const GenerationConfig config = make_generation_config(*command, options->generation);
    chosen = [options, config](Context& context) { return run_chat(context, *options, config); };
  });
}

}  // namespace precast::cli
