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

// As long as a prompt's file may be.
constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

// Lines of stdin, and Ctrl-C while one is waited for.
class Lines {
 public:
  explicit Lines(const util::CancelToken& cancel) : cancel_(cancel) {}

  // nullopt: the end (Ctrl-D), or cancelled. A line that is too long is bad_input, and skipped.
  std::optional<Result<std::string>> next() {
    bool too_long = false;
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return given(std::move(line), too_long);
      }
      searched_ = buffer_.size();
      if (searched_ > kLongestLine) {
        too_long = true;
        buffer_.clear();
        searched_ = 0;
      }
      if (!read_more()) break;
    }
    if ((buffer_.empty() && !too_long) || cancel_.cancelled()) return std::nullopt;
    searched_ = 0;
    return given(std::exchange(buffer_, {}), too_long);
  }

 private:
  static Result<std::string> given(std::string line, bool too_long) {
    if (!too_long && line.size() <= kLongestLine) return line;
    return fail(ErrorCode::bad_input, "a line of more than 16 MiB", {}, "ask for less");
  }

  bool read_more() {
    pollfd waiting[] = {{STDIN_FILENO, POLLIN, 0}, {cancel_.descriptor(), POLLIN, 0}};
    while (::poll(waiting, 2, -1) < 0) {
      if (errno != EINTR) return false;
    }
    if (cancel_.cancelled()) return false;
    char block[1U << 16U];
    const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
    if (count <= 0) return false;
    buffer_.append(block, static_cast<std::size_t>(count));
    return true;
  }

  const util::CancelToken& cancel_;
  std::string buffer_;
  std::size_t searched_ = 0;  // so much of the buffer has no end of a line
};

class Chat {
  static constexpr const char* kHelp =
      "/reset forgets what was said, /quit or Ctrl-D leaves, Ctrl-C stops an answer; everything else is a question";

 public:
  Chat(Context& context, genai::Session& session, const GenerationConfig& config, const std::string& system)
      : context_(context), session_(session), config_(config), system_(system), lines_(context.cancel) {
    interactive_ = ::isatty(STDIN_FILENO) == 1;
    reset();
  }

  int run() {
    if (interactive_) context_.output.note(kHelp);
    for (;;) {
      if (interactive_) context_.output.prompt("> ");
      const auto line = lines_.next();
      if (!line) break;
      if (!*line) {
        refuse(line->error());
        continue;
      }
      const std::string_view words = util::trim(**line);
      if (words.empty()) continue;
      if (words == "/quit" || words == "/exit") break;
      if (words == "/reset") {
        reset();
        context_.output.note("forgotten");
      } else if (words == "/help") {
        context_.output.note(kHelp);
      } else {
        answer(**line);
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
    if (const auto checked = genai::check_text(question, "the line"); !checked) return refuse(checked.error());
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
  if (const auto checked = check_texts(config, options.system); !checked) {
    return report_error(context, "chat", checked.error());
  }
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
      "Everything that was said is sent again each turn. /reset forgets it, /quit or Ctrl-D leaves, Ctrl-C stops an\n"
      "answer, /help says so.");
  command->callback([options, command, &chosen] {
    const GenerationConfig config = make_generation_config(*command, options->generation);
    chosen = [options, config](Context& context) { return run_chat(context, *options, config); };
  });
}

}  // namespace precast::cli
