#include <gmock/gmock.h>

#include "identity/identity.hpp"

namespace precast::identity::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Differences, EqualIdentitiesHaveNone) {
  EXPECT_THAT(differences(R"({"schema":1,"embed":true})", R"({"embed":true,"schema":1})"), IsEmpty());
}

TEST(Differences, EachFieldSaysBothValues) {
  EXPECT_THAT(differences(R"({"device":{"driver":"31.0"},"provider_options":{"a":"1"},"embed":false})",
                          R"({"device":{"driver":null},"provider_options":{"b":""},"embed":true})"),
              ElementsAre("device.driver: 31.0 -> null", "embed: false -> true", "provider_options.a: 1 -> (none)",
                          "provider_options.b: (none) -> \"\""));
}

TEST(Differences, DigestsAreShortAndListsAreNamed) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  EXPECT_THAT(differences(R"({"ep_libraries":[["libx.so",")" + a + R"("],["liby.so",")" + a +
                              R"("]],"source":{"model":")" + a + R"("},"host":{"cpu":{"features":["avx","avx2"]}}})",
                          R"({"ep_libraries":[["libx.so",")" + b + R"("]],"source":{"model":")" + b +
                              R"("},"host":{"cpu":{"features":["avx"]}}})"),
              ElementsAre("source.model: aaaaaaaaaaaa -> bbbbbbbbbbbb", "host.cpu.features.avx2: yes -> (none)",
                          "ep_libraries.libx.so: aaaaaaaaaaaa -> bbbbbbbbbbbb",
                          "ep_libraries.liby.so: aaaaaaaaaaaa -> (none)"));
}

TEST(Differences, ManyAreCounted) {
  std::string many = R"({"provider_options":{)";
  for (int i = 0; i < 20; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"x\"";
  const auto lines = differences("{}", many + "}}");
  ASSERT_EQ(lines.size(), 13U);
  EXPECT_EQ(lines.back(), "and 8 more");
}

TEST(Differences, UnreadableTextIsSaidSo) {
  EXPECT_EQ(differences("{", "{}").size(), 1U);
}

}  // namespace
}  // namespace precast::identity::test
