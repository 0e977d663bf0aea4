#include "genai/bundle_files.hpp"

#include <algorithm>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

constexpr int kDeepestLinks = 8;  // folders reached through links inside such folders

bool is_of_tools(const stdfs::path& name) {
  const stdfs::path first = *name.begin();
  return first == ".git" || first == ".cache" || name == kLeaseName || fs::is_temporary(name.filename().native());
}

class Listing {
 public:
  Listing(fs::FileSystem& fs, const stdfs::path& folder, const std::set<stdfs::path>& without)
      : fs_(fs), folder_(folder), without_(without) {}

  Result<std::vector<BundleFile>> run() {
    std::error_code error;
    root_ = stdfs::canonical(folder_, error);
    if (error) return fail(ErrorCode::not_found, util::quoted(folder_) + ": " + error.message(), folder_);
    PRECAST_TRY(add_tree(root_, {}, 0));
    std::ranges::sort(files_, {}, &BundleFile::name);
    return std::move(files_);
  }

 private:
  // What lies below `from` (a canonical folder), as names below `name`.
  Result<void> add_tree(const stdfs::path& from, const stdfs::path& name, int links) {
    PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs_, from));
    for (const fs::TreeEntry& entry : entries) {
      const stdfs::path here = name / entry.path;
      if (is_of_tools(here) || without_.contains(here)) continue;
      if (!util::is_utf8(here.native())) {
        return fail(ErrorCode::bad_input, "the bundle has a file whose name is not UTF-8: " + util::quoted(here),
                    folder_ / here, "rename it");
      }
      if (entry.kind == fs::FileKind::regular) files_.push_back({here, from / entry.path});
      if (entry.kind == fs::FileKind::symlink) PRECAST_TRY(add_link(from / entry.path, here, links));
    }
    return {};
  }

  Result<void> add_link(const stdfs::path& link, const stdfs::path& name, int links) {
    std::error_code error;
    const stdfs::path target = stdfs::canonical(link, error);
    if (error) {
      return fail(ErrorCode::bad_input, "the bundle's link " + util::quoted(name) + " leads to nothing", link,
                  "mend the link or delete it");
    }
    if (!fs::is_within(root_, target)) {
      return fail(ErrorCode::bad_input,
                  "the bundle's link " + util::quoted(name) + " leads out of the bundle, to " + util::quoted(target),
                  link, "use a copy of the bundle without such links: cp -rL");
    }
    PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs_.stat(target));
    if (stat.kind == fs::FileKind::regular) files_.push_back({name, target});
    if (stat.kind != fs::FileKind::directory) return {};
    if (links == kDeepestLinks) {
      return fail(ErrorCode::bad_input, "the bundle's links to folders lead in a circle: " + util::quoted(name), link,
                  "delete the link");
    }
    return add_tree(target, name, links + 1);
  }

  fs::FileSystem& fs_;
  const stdfs::path& folder_;
  const std::set<stdfs::path>& without_;
  stdfs::path root_;
  std::vector<BundleFile> files_;
};

}  // namespace

Result<std::vector<BundleFile>> files_of_bundle(fs::FileSystem& fs, const stdfs::path& folder,
                                                const std::set<stdfs::path>& without) {
  return Listing(fs, folder, without).run();
}

}  // namespace precast::genai
