#include "hub/source.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::hub {
namespace {

TEST(Source, ReadsEachKind) {
  const auto hf = parse_source("hf:Qwen/Repo-GGUF@v1.0:folder/model.gguf");
  ASSERT_TRUE(hf.ok()) << hf.error().message;
  EXPECT_EQ(hf->kind, SourceKind::hf);
  EXPECT_EQ(hf->parts[0].package, "Qwen/Repo-GGUF@v1.0");
  EXPECT_EQ(hf->parts[0].path, "folder/model.gguf");

  const auto npm = parse_source("npm:@scope/name@1.2.3:a/b.bin");
  ASSERT_TRUE(npm.ok()) << npm.error().message;
  EXPECT_EQ(npm->parts[0].package, "@scope/name@1.2.3");

  const auto file = parse_source("file:/models/a: b.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->parts[0].path, "/models/a: b.gguf");
}

TEST(Source, MakesAPartForEachNumberOfItsRanges) {
  const auto source = parse_source("pip:part{9..11}==0.2.0:part_{9..11}/data/part{09..11}.bin");
  ASSERT_TRUE(source.ok()) << source.error().message;
  ASSERT_EQ(source->parts.size(), 3u);
  EXPECT_EQ(source->parts[0].package, "part9==0.2.0");
  EXPECT_EQ(source->parts[0].path, "part_9/data/part09.bin");
  EXPECT_EQ(source->parts[2].package, "part11==0.2.0");
  EXPECT_EQ(source->parts[2].path, "part_11/data/part11.bin");
}

TEST(Source, OneRangeIsEnough) {
  const auto source = parse_source("npm:model-part{1..2}@0.1.0:model.part");
  ASSERT_TRUE(source.ok()) << source.error().message;
  ASSERT_EQ(source->parts.size(), 2u);
  EXPECT_EQ(source->parts[1].package, "model-part2@0.1.0");
  EXPECT_EQ(source->parts[1].path, "model.part");
}

TEST(Source, TakesABytesRange) {
  const auto source = parse_source("npm:name@1:a.data#60816028+432717");
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ(source->parts[0].path, "a.data");
  EXPECT_EQ(source->range->offset, 60816028u);
  EXPECT_EQ(source->range->length, 432717u);
}

TEST(Source, RefusesWhatCouldDoHarm) {
  for (const char* text : {
           "",
           "ftp://host/file",
           "hf:repo:file",
           "hf:org/repo/more:file",
           "hf:org/repo",
           "hf:org/repo:file#0+4",
           "hf:../repo:file",
           "pip:--index-url=x==1:path",
           "pip:-e==1:path",
           "pip:name:path",
           "pip:name==:path",
           "pip:na me==1:path",
           "pip:name==1:../../etc/passwd",
           "pip:name==1:/etc/passwd",
           "pip:name==1:a//b",
           "pip:name==1:-rf",
           "pip:name==1:",
           "npm:name:path",
           "npm:a/b/c@1:path",
           "npm:name@1:a#x",
           "npm:name@1:a#0+0",
           "pip:a{1..3}==1:b{1..2}",
           "pip:a{3..1}==1:b",
           "pip:a{1..99999}==1:b",
           "pip:a{1==1:b",
           "file:relative/path",
       })
    EXPECT_FALSE(parse_source(text).ok()) << text;
}

TEST(Source, RefusesTextsThatWouldExpandWithoutEnd) {
  std::string many = "npm:name@1:";
  for (int i = 0; i < 9; ++i) many += "{1..2}";
  EXPECT_FALSE(parse_source(many).ok());
  std::string endless = "npm:name@1:";
  while (endless.size() < 10'000'000) endless += "{1..1}";
  EXPECT_FALSE(parse_source(endless).ok());
  // Every number is padded to the width of the first one.
  EXPECT_FALSE(parse_source("npm:name@1:{" + std::string(5000, '0') + "1..5}").ok());
}

}  // namespace
}  // namespace kvasir::hub
