#include "genai/generate.hpp"

#include "genai_native/support.hpp"
#include "util/text.hpp"

namespace precast::genai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GenaiGenerate : public testing::GenaiTest {};

TEST_F(GenaiGenerate, GreedyTokensOfTheTinyBundleAreTheGoldenOnes) {
  Session session = tiny();
  const Generation done = must_generate(session, request("hello the world", 8)).generation;
  EXPECT_THAT(done.token_ids, ElementsAre(59, 95, 57, 266, 81, 59, 105, 48));
  EXPECT_EQ(done.finish_reason, FinishReason::length);
  EXPECT_EQ(done.text, session.decode(done.token_ids).value());
  EXPECT_EQ(done.prompt_tokens, session.encode("hello the world")->size());
  // Nothing is carried over from one request to the next.
  EXPECT_EQ(must_generate(session, request("hello the world", 8)).generation.token_ids, done.token_ids);
  EXPECT_EQ(must_generate(session, request("hello the world", 3)).generation.token_ids.size(), 3U);
}

TEST_F(GenaiGenerate, TokenIdsAreAPromptAsTheyAre) {
  Session session = tiny();
  GenerationRequest ids = request("", 8);
  ids.prompt.token_ids = session.encode("hello the world").value();
  const auto done = must_generate(session, ids);
  EXPECT_THAT(done.generation.token_ids, ElementsAre(59, 95, 57, 266, 81, 59, 105, 48));
  EXPECT_FALSE(done.timing.tokenization_ms);
  EXPECT_FALSE(done.timing.template_ms);
  ids.prompt.token_ids[1] = -1;
  EXPECT_EQ(session.generate(ids).error().message, "-1 is no token id");
}

TEST_F(GenaiGenerate, ExactlyOneKindOfPromptIsTaken) {
  Session session = tiny();
  EXPECT_EQ(session.generate(request("", 8)).error().message, "the prompt is empty");
  GenerationRequest two = request("text", 8);
  two.prompt.token_ids = {5};
  EXPECT_EQ(session.generate(two).error().code, ErrorCode::bad_input);
  EXPECT_EQ(session.generate(two).error().message, "more than one kind of prompt is given");
}

TEST_F(GenaiGenerate, StreamedPiecesAreWholeCharactersAndJoinToTheText) {
  Session session = tiny();
  for (const char* prompt : {"hello the world", "\u00FC\u00F6 \U0001F600", "on and on"}) {
    GenerationRequest streamed = request(prompt, 32);
    std::string joined;
    streamed.on_text = [&](std::string_view piece) {
      EXPECT_TRUE(util::is_utf8(piece));
      EXPECT_FALSE(piece.empty());
      joined += piece;
      return true;
    };
    const Generation done = must_generate(session, streamed).generation;
    EXPECT_EQ(done.text, joined);
    EXPECT_EQ(done.token_ids, must_generate(session, request(prompt, 32)).generation.token_ids);
  }
}

TEST_F(GenaiGenerate, EachTimeIsThatOfItsStep) {
  Session session = tiny();
  ASSERT_TRUE(session.load());
  GenerationRequest timed = request("", 3);
  timed.prompt.messages = {{"user", "hello"}};
  timed.clock = testing::growing_clock();
  const GenerationTiming all = must_generate(session, timed).timing;
  EXPECT_EQ(all.template_ms, 3);
  EXPECT_EQ(all.tokenization_ms, 4);
  EXPECT_EQ(all.generator_create_ms, 6);
  EXPECT_EQ(all.prefill_ms, 7);
  EXPECT_EQ(all.first_token_ms, 9);
  EXPECT_THAT(all.decode_token_ms, ElementsAre(11, 13));
  EXPECT_EQ(all.sequence_fetch_ms, 15);
  EXPECT_EQ(all.detokenization_ms, 17);
  EXPECT_EQ(all.ttft_ms(), 16);
  EXPECT_EQ(all.decode_ms(), 24);
  EXPECT_EQ(all.tpot_ms(), 12);
  EXPECT_EQ(all.decode_tokens_per_second(), 1000.0 / 12);

  GenerationRequest one = request("hello", 1);
  one.clock = testing::growing_clock();
  const GenerationTiming single = must_generate(session, one).timing;
  EXPECT_FALSE(single.template_ms);
  EXPECT_EQ(single.tokenization_ms, 3);
  EXPECT_THAT(single.decode_token_ms, IsEmpty());
  EXPECT_FALSE(single.tpot_ms());
  EXPECT_FALSE(single.decode_tokens_per_second());
}

TEST_F(GenaiGenerate, APromptThatLeavesNoRoomIsRefusedWithBothNumbers) {
  for (const char* name : {"tiny", "tiny-decoder"}) {
    Session session = this->session(testing::kDeps / "bundles" / name);
    GenerationRequest longest = request("", 1);
    longest.prompt.token_ids.assign(200, 5);
    const auto refused = session.generate(longest);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
    EXPECT_THAT(refused.error().message, HasSubstr("has 200 tokens, and the context 128"));
  }
}

TEST_F(GenaiGenerate, AFlatModelFillsItsContextAndAWindowedOneWholeWindows) {
  // 128 tokens in all, windows of 16.
  Session flat = this->flat();
  Session windowed = tiny();
  GenerationRequest ids = request("", 50);
  ids.config.ignore_eos = true;
  ids.prompt.token_ids.assign(127, 5);
  EXPECT_EQ(must_generate(flat, ids).generation.token_ids.size(), 1U);
  ids.prompt.token_ids.assign(128, 5);
  EXPECT_FALSE(flat.generate(ids));
  ids.prompt.token_ids.assign(112, 5);
  EXPECT_EQ(must_generate(windowed, ids).generation.token_ids.size(), 16U);
  ids.prompt.token_ids.assign(97, 5);  // filled up to 112
  EXPECT_EQ(must_generate(windowed, ids).generation.token_ids.size(), 16U);
  ids.prompt.token_ids.assign(113, 5);  // filled up to 128
  const auto refused = windowed.generate(ids);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has 113 tokens, and the context 128 (whole windows are used up)"));
}

TEST_F(GenaiGenerate, EosEndsItUnlessItIsIgnoredOrTooEarly) {
  // The second golden token ends it.
  const auto bundle = copy_of("tiny", {{"model", {{"eos_token_id", {95}}}}});
  Session session = this->session(bundle);
  GenerationRequest ended = request("hello the world", 8);
  Generation done = must_generate(session, ended).generation;
  EXPECT_THAT(done.token_ids, ElementsAre(59, 95));
  EXPECT_EQ(done.finish_reason, FinishReason::eos);
  ended.config.min_new_tokens = 5;
  done = must_generate(session, ended).generation;
  EXPECT_GE(done.token_ids.size(), 5U);
  ended.config.min_new_tokens = 0;
  ended.config.ignore_eos = true;
  done = must_generate(session, ended).generation;
  EXPECT_EQ(done.token_ids.size(), 8U);
  EXPECT_EQ(done.finish_reason, FinishReason::length);
}

TEST_F(GenaiGenerate, AStopTextEndsItAndIsNoPartOfTheText) {
  Session session = tiny();
  const std::string all = must_generate(session, request("hello the world", 8)).generation.text;
  ASSERT_GT(all.size(), 4U);
  GenerationRequest stopped = request("hello the world", 8);
  stopped.config.stop = {"never", all.substr(2, 2)};
  const Generation done = must_generate(session, stopped).generation;
  EXPECT_EQ(done.text, all.substr(0, 2));
  EXPECT_EQ(done.finish_reason, FinishReason::stop);
  EXPECT_LT(done.token_ids.size(), 8U);
}

TEST_F(GenaiGenerate, ACallbackThatSaysNoIsNotCalledAgain) {
  Session session = tiny();
  GenerationRequest cancelled = request("hello the world", 8);
  const std::string all = must_generate(session, cancelled).generation.text;
  // The end of each piece may begin a stop text, so something is held back when the callback says no.
  cancelled.config.stop = {all.substr(1, 1) + "no such text"};
  int calls = 0;
  cancelled.on_text = [&](std::string_view) {
    ++calls;
    return false;
  };
  const Generation done = must_generate(session, cancelled).generation;
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(done.finish_reason, FinishReason::cancelled);
  EXPECT_EQ(done.token_ids.size(), 1U);
}

TEST_F(GenaiGenerate, TheCancelTokenEndsIt) {
  Session session = tiny();
  GenerationRequest cancelled = request("hello the world", 8);
  cancelled.on_text = [&](std::string_view) {
    cancel_.cancel();
    return true;
  };
  const Generation done = must_generate(session, cancelled).generation;
  EXPECT_EQ(done.finish_reason, FinishReason::cancelled);
  EXPECT_LT(done.token_ids.size(), 8U);
  EXPECT_EQ(must_generate(session, request("hello", 8)).generation.token_ids.size(), 0U);
}

TEST_F(GenaiGenerate, APadTokenInThePromptIsWarnedOfOnAWindowedPipelineOnly) {
  GenerationRequest padded = request("", 2);
  padded.prompt.token_ids = {5, 0, 7};
  Session windowed = tiny();
  EXPECT_THAT(must_generate(windowed, padded).generation.warnings, ElementsAre(HasSubstr("token 0")));
  Session other = flat();
  EXPECT_THAT(must_generate(other, padded).generation.warnings, IsEmpty());
  padded.prompt.token_ids = {5, 7};
  EXPECT_THAT(must_generate(windowed, padded).generation.warnings, IsEmpty());
}

TEST_F(GenaiGenerate, SamplingWithASeedRepeats) {
  Session session = flat();
  GenerationRequest sampled = request("hello", 16);
  sampled.config.do_sample = true;
  sampled.config.temperature = 3;
  sampled.config.top_k = 50;
  sampled.config.seed = 7;
  const auto first = must_generate(session, sampled).generation.token_ids;
  EXPECT_EQ(must_generate(session, sampled).generation.token_ids, first);
  sampled.config.seed = 8;
  EXPECT_NE(must_generate(session, sampled).generation.token_ids, first);
}

TEST_F(GenaiGenerate, TextSurvivesTheTokenizer) {
  Session session = tiny();
  for (const char* text :
       {"hello the world", "\u00E4\u00F6\u00FC\u00DF \u20AC", "\U0001F600\U0001F1E9\U0001F1EA", "a\nb\t c"}) {
    const auto ids = session.encode(text);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(session.decode(*ids).value(), text);
  }
}

TEST_F(GenaiGenerate, TheTemplateHasTheMessages) {
  Session session = tiny();
  const std::vector<ChatMessage> messages = {{"system", "be \"brief\"\n"}, {"user", "gr\u00FC\u00DFe \U0001F600"}};
  const std::string text =
      "<|im_start|>system\nbe \"brief\"\n<|im_end|>\n<|im_start|>user\ngr\u00FC\u00DFe \U0001F600<|im_end|>\n";
  EXPECT_EQ(session.apply_chat_template(messages, false).value(), text);
  EXPECT_EQ(session.apply_chat_template(messages, true).value(), text + "<|im_start|>assistant\n");
  // Messages are a prompt for an answer.
  GenerationRequest chat = request("", 4);
  chat.prompt.messages = messages;
  const auto done = must_generate(session, chat);
  EXPECT_EQ(done.generation.prompt_tokens, session.encode(text + "<|im_start|>assistant\n")->size());
  EXPECT_EQ(done.generation.token_ids,
            must_generate(session, request(text + "<|im_start|>assistant\n", 4)).generation.token_ids);
}

TEST_F(GenaiGenerate, TheTemplateBesideTheConfigurationWins) {
  const auto bundle = copy_of("tiny");
  testing::put(bundle / "chat_template.jinja", "{% for m in messages %}[{{ m['content'] }}]{% endfor %}");
  Session session = this->session(bundle);
  EXPECT_EQ(session.apply_chat_template({{"user", "a"}, {"user", "b"}}, true).value(), "[a][b]");
}

TEST_F(GenaiGenerate, ABrokenTemplateIsAnErrorThatNamesAWayOut) {
  const auto bundle = copy_of("tiny");
  testing::put(bundle / "chat_template.jinja", "{% for m in messages %}{{ m['content'] ");
  Session session = this->session(bundle);
  const auto applied = session.apply_chat_template({{"user", "a"}}, true);
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().hint, HasSubstr("formatted"));
  EXPECT_EQ(applied.error().path, bundle);
  EXPECT_TRUE(session.generate(request("a prompt that is formatted", 2)));
}

// genai's texts end with a NUL, and nlohmann would replace what is no UTF-8.
TEST_F(GenaiGenerate, WhatIsNoTextIsRefusedAndNotCut) {
  Session session = tiny();
  const std::string cut("hello\0 the world", 16);
  for (const std::string& text : {cut, std::string("hello \xff")}) {
    GenerationRequest raw = request(text, 2);
    GenerationRequest chat = request("", 2);
    chat.prompt.messages = {{"user", text}};
    GenerationRequest stop = request("hello", 2);
    stop.config.stop = {text};
    for (const GenerationRequest& wanted : {raw, chat, stop}) {
      const auto done = session.generate(wanted);
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ErrorCode::bad_input);
      EXPECT_THAT(done.error().message, ::testing::AnyOf(HasSubstr("NUL"), HasSubstr("not UTF-8")));
    }
    EXPECT_FALSE(session.apply_chat_template({{"user", text}}, true));
    EXPECT_FALSE(session.apply_chat_template({{text, "hello"}}, true));
  }
}

TEST_F(GenaiGenerate, ALongTemplateIsNotWholeInItsError) {
  const auto bundle = copy_of("tiny");
  testing::put(bundle / "chat_template.jinja", std::string(200'000, 'x') + "{% for m in messages %}{{ m['content'] ");
  Session session = this->session(bundle);
  const auto applied = session.apply_chat_template({{"user", "a"}}, true);
  ASSERT_FALSE(applied);
  EXPECT_LT(applied.error().message.size(), 2000U);
}

TEST(GenaiMaxLength, IsTheContextOfAPipelineAndElseWhatIsAsked) {
  EXPECT_EQ(max_length_of("decoder-pipeline", 10, 20, 128), 128U);
  EXPECT_EQ(max_length_of("llama", 10, 20, 128), 30U);
  EXPECT_EQ(max_length_of("llama", 120, 20, 128), 128U);
  EXPECT_EQ(max_length_of("", 10, 118, 128), 128U);
}

TEST(GenaiCheckConfig, NamesTheFieldThatIsWrong) {
  EXPECT_TRUE(check_config({}));
  const auto refused = [](auto change) {
    GenerationConfig config;
    change(config);
    const auto checked = check_config(config);
    return checked ? std::string() : checked.error().message;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refused([](auto& c) { c.max_new_tokens = 0; }), HasSubstr("max_new_tokens"));
  EXPECT_THAT(refused([](auto& c) { c.min_new_tokens = 129; }), HasSubstr("min_new_tokens"));
  EXPECT_EQ(refused([](auto& c) { c.min_new_tokens = 128; }), "");
  for (const double bad : {0.0, -1.0, kNan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refused([&](auto& c) { c.temperature = bad; }), HasSubstr("temperature")) << bad;
    EXPECT_THAT(refused([&](auto& c) { c.top_p = bad; }), HasSubstr("top_p")) << bad;
    EXPECT_THAT(refused([&](auto& c) { c.repetition_penalty = bad; }), HasSubstr("repetition_penalty")) << bad;
  }
  EXPECT_THAT(refused([](auto& c) { c.top_p = 1.01; }), HasSubstr("top_p"));
}

}  // namespace
}  // namespace precast::genai
