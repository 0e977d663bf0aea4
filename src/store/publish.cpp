#include "store/publish.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "identity/hashing_digester.hpp"
#include "store/publish_destination.hpp"
#include "store/publish_files.hpp"
#include "store/publish_folder.hpp"
#include "store/publish_plan.hpp"
#include "store/read_record.hpp"
#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

// One call of publish(), step by step. The output's lock is held throughout.
class Publisher {
 public:
  Publisher(Store& store, const PublishSource& source, const PublishRequest& request, Inputs inputs, Destination to,
            PublishPlan plan)
      : store_(store),
        fs_(store.file_system()),
        source_(source),
        request_(request),
        inputs_(std::move(inputs)),
        to_(std::move(to)),
        plan_(std::move(plan)) {}

  Result<Published> run() {
    sweep_published_folder(fs_, to_.folder);
    PRECAST_TRY(read_old_record());
    PRECAST_TRY(look_at_folder());
    if (!request_.overwrite) PRECAST_TRY(check_nothing_in_the_way());
    if (is_there()) return answer(false);
    PRECAST_TRY(write());
    prune_publications(store_, to_, record_);
    return answer(true);
  }

 private:
  struct Staged {
    Temporary file;
    std::string name;
    bool visible_last = false;  // the .onnx and the aliases: only once all binaries are there
  };

  Result<void> read_old_record() {
    PRECAST_TRY_ASSIGN(old_text_, damage_is_none(read_record(fs_, store_.layout().publish_record(to_.id))));
    if (!old_text_) return {};
    // A damaged one remembers nothing.
    if (auto record = parse_publish_record(*old_text_)) old_record_ = *std::move(record);
    const auto same = std::ranges::find_if(old_record_.publications, [this](const Publication& one) {
      return one.source_sha256 == plan_.source.sha256 && one.files == plan_.published_files();
    });
    if (same != old_record_.publications.end()) model_sha256_ = same->model_sha256;
    return {};
  }

  static Result<std::optional<std::string>> damage_is_none(Result<std::optional<std::string>> text) {
    if (!text && text.error().code == ErrorCode::corrupt) return std::nullopt;
    return text;
  }

  // Digests of what stands under the names that are about to be written.
  Result<void> look_at_folder() {
    std::vector<std::filesystem::path> paths;
    const auto look_at = [&](const std::string& name) -> Result<void> {
      const auto path = to_.folder / name;
      PRECAST_TRY_ASSIGN(const bool is_there, check_replaceable(fs_, path, inputs_));
      if (is_there) paths.push_back(path);
      return {};
    };
    PRECAST_TRY(look_at(to_.name));
    for (const PlannedFile& planned : plan_.files) PRECAST_TRY(look_at(planned.file.path));
    PRECAST_TRY_ASSIGN(const auto evidence, store_.memo().digest(paths, "publish:" + to_.id));
    for (const identity::FileEvidence& file : evidence) there_[file.path.filename().native()] = file.sha256;
    return {};
  }

  [[nodiscard]] bool is_there(const std::string& name, const std::string& sha256) const {
    const auto found = there_.find(name);
    return found != there_.end() && found->second == sha256;
  }
  [[nodiscard]] bool model_is_there() const { return model_sha256_ && is_there(to_.name, *model_sha256_); }
  [[nodiscard]] bool is_there() const {
    return model_is_there() && std::ranges::all_of(plan_.files, [this](const PlannedFile& planned) {
             return is_there(planned.file.path, planned.file.sha256);
           });
  }

  Result<void> check_nothing_in_the_way() const {
    for (const auto& [name, sha256] : there_) {
      const auto planned = std::ranges::find(plan_.files, name, [](const PlannedFile& one) { return one.file.path; });
      const bool same = planned == plan_.files.end() ? model_is_there() : planned->file.sha256 == sha256;
      if (same) continue;
      const auto path = to_.folder / name;
      return fail(ErrorCode::bad_input,
                  fmt::format("{} exists and is not known to be what would be published there", util::quoted(path)),
                  path, "give --overwrite to replace it, or choose another name with -o");
    }
    return {};
  }

  Result<void> write() {
    // Not to be had at all (another holds the folder for long, or its file system has no locks): then a publication
    // from another store might sweep what is written here, and this one fails.
    const auto shared = FolderLock::try_acquire(fs_, to_.folder, fs::LockKind::shared);
    for (const PlannedFile& planned : plan_.files) PRECAST_TRY(stage(planned));
    if (!model_is_there()) PRECAST_TRY(stage_model());
    PRECAST_TRY(write_record());
    Installation installation(fs_);
    auto installed = install(installation);
    if (!installed) {
      installation.undo();
      restore_record();
    }
    return installed;
  }

  Result<void> stage(const PlannedFile& planned) {
    if (is_there(planned.file.path, planned.file.sha256)) return {};
    if (planned.role == PlannedFile::Role::alias) return stage_alias(planned);
    PRECAST_TRY_ASSIGN(Temporary file, copy_of(planned.from, planned.file.sha256));
    staged_.push_back({std::move(file), planned.file.path});
    return {};
  }

  // The generation's file as a temporary one, with the digest that the marker gives it.
  Result<Temporary> copy_of(const std::string& name, const std::string& sha256) {
    const auto from = source_.folder / name;
    PRECAST_TRY_ASSIGN(Temporary file, Temporary::clone(fs_, from, to_.folder));
    PRECAST_TRY_ASSIGN(const auto copied, identity::hash_file(fs_, file.path(), request_.wait.cancel));
    if (copied.sha256 != sha256) return other_bytes(from);
    PRECAST_TRY(file.make_durable(inputs_.mode()));
    return file;
  }

  static std::unexpected<Error> other_bytes(const std::filesystem::path& path) {
    return fail(ErrorCode::corrupt, fmt::format("{} has other bytes than were stored", util::quoted(path)), path,
                "run `precast cache verify`, and compile the model again with --rebuild");
  }

  Result<void> stage_alias(const PlannedFile& planned) {
    const auto binary = std::ranges::find_if(plan_.files, [&](const PlannedFile& one) {
      return one.role == PlannedFile::Role::binary && one.from == planned.from;
    });
    const auto staged = std::ranges::find(staged_, binary->file.path, &Staged::name);
    const auto from = staged == staged_.end() ? to_.folder / binary->file.path : staged->file.path();
    PRECAST_TRY_ASSIGN(Temporary file, Temporary::link(fs_, from, to_.folder));
    PRECAST_TRY(file.make_durable(inputs_.mode()));
    staged_.push_back({std::move(file), planned.file.path, true});
    return {};
  }

  Result<void> stage_model() {
    if (plan_.references.empty()) {
      PRECAST_TRY_ASSIGN(Temporary file, copy_of(source_.model, plan_.source.sha256));
      staged_.push_back({std::move(file), to_.name, true});
      model_sha256_ = plan_.source.sha256;
      return {};
    }
    const auto from = source_.folder / source_.model;
    PRECAST_TRY_ASSIGN(Temporary file, Temporary::create(fs_, to_.folder));
    PRECAST_TRY_ASSIGN(const auto rewritten,
                       model::rewrite_references(fs_, from, plan_.references, file.file(), request_.wait.cancel));
    if (rewritten.source_sha256 != plan_.source.sha256) return other_bytes(from);
    PRECAST_TRY(file.make_durable(inputs_.mode()));
    staged_.push_back({std::move(file), to_.name, true});
    model_sha256_ = rewritten.sha256;
    return {};
  }

  // Before anything is visible: whoever is killed from here on leaves nothing that the record does not list.
  Result<void> write_record() {
    const util::Clock& clock = request_.wait.clock != nullptr ? *request_.wait.clock : util::Clock::system();
    Publication now{.time = util::format_rfc3339(clock.now()),
                    .source_sha256 = plan_.source.sha256,
                    .model_sha256 = *model_sha256_,
                    .files = plan_.published_files()};
    record_ = old_record_;
    record_.output = to_.output().native();
    record_.folder = to_.folder_id;
    std::erase_if(record_.publications, [&](const Publication& one) {
      return one.model_sha256 == now.model_sha256 && one.files == now.files;
    });
    record_.publications.insert(record_.publications.begin(), std::move(now));
    PRECAST_TRY(fs::make_directories(fs_, store_.layout().publish(), kFolderMode, fs::Durability::durable));
    auto written = put_record(serialize(record_));
    if (!written) restore_record();  // it may be there and only not durable
    return written;
  }

  Result<void> put_record(const std::string& text) {
    return fs::write_file_atomically(fs_, store_.layout().publish_record(to_.id), text, fs::Durability::durable);
  }

  // A record that lists more than there is does no harm; but each failure would push an older publication out.
  void restore_record() {
    if (old_text_) {
      (void)put_record(*old_text_);
    } else {
      (void)fs_.unlink(store_.layout().publish_record(to_.id));
    }
  }

  Result<void> install(Installation& installation) {
    PRECAST_TRY(install_those(installation, false));
    PRECAST_TRY(fs_.sync_directory(to_.folder));
    PRECAST_TRY(install_those(installation, true));
    return fs_.sync_directory(to_.folder);
  }

  Result<void> install_those(Installation& installation, bool visible_last) {
    for (Staged& staged : staged_) {
      if (staged.visible_last != visible_last) continue;
      const auto old = was_ours(staged.name) ? Installation::Old::ours : Installation::Old::theirs;
      PRECAST_TRY(installation.put(staged.file, to_.folder / staged.name, old));
    }
    return {};
  }

  // Whether what is there under this name is what precast put there.
  [[nodiscard]] bool was_ours(const std::string& name) const {
    const auto found = there_.find(name);
    if (found == there_.end()) return false;
    return std::ranges::any_of(old_record_.publications, [&](const Publication& one) {
      if (name == to_.name) return one.model_sha256 == found->second;
      const auto file = std::ranges::find(one.files, name, &Artifact::path);
      return file != one.files.end() && file->sha256 == found->second;
    });
  }

  [[nodiscard]] Published answer(bool written) const {
    Published published{.model = to_.output(), .files = {}, .written = written};
    for (const PlannedFile& planned : plan_.files) published.files.push_back(to_.folder / planned.file.path);
    return published;
  }

  Store& store_;
  fs::FileSystem& fs_;
  const PublishSource& source_;
  const PublishRequest& request_;
  Inputs inputs_;
  Destination to_;
  PublishPlan plan_;
  std::optional<std::string> old_text_;
  PublishRecord old_record_;
  PublishRecord record_;
  std::map<std::string, std::string> there_;  // name -> SHA-256
  std::optional<std::string> model_sha256_;   // of the .onnx, once it is known
  std::vector<Staged> staged_;
};

}  // namespace

Result<Published> publish(Store& store, const PublishSource& source, const PublishRequest& request) {
  if (!store.writable()) {
    return fail(ErrorCode::io,
                fmt::format("the cache '{}' cannot be written, and nothing can be published without it",
                            shown(store.layout().root())),
                store.layout().root(), "make it writable, or choose another one with --cache-dir");
  }
  fs::FileSystem& fs = store.file_system();
  PRECAST_TRY_ASSIGN(Inputs inputs, Inputs::look_at(fs, request.inputs));
  PRECAST_TRY_ASSIGN(const model::ModelFacts facts, model::read_model(fs, source.folder / source.model));
  PRECAST_TRY_ASSIGN(PublishPlan plan,
                     plan_publication(source, facts, request.output.filename().native(), request.binary_stem));
  PRECAST_TRY_ASSIGN(Destination to, find_destination(fs, store.layout(), request.output, inputs));
  PRECAST_TRY_ASSIGN(fs::Lock lock,
                     fs::Lock::acquire(fs, store.layout().publish_lock(to.id), fs::LockKind::exclusive, request.wait));
  lock.announce("publishing " + to.output().string());
  return Publisher(store, source, request, std::move(inputs), std::move(to), std::move(plan)).run();
}

Result<void> check_output(Store& store, const PublishRequest& request) {
  PRECAST_TRY_ASSIGN(const Inputs inputs, Inputs::look_at(store.file_system(), request.inputs));
  PRECAST_TRY(check_destination(store.file_system(), store.layout(), request.output, inputs));
  return {};
}

}  // namespace precast::store
