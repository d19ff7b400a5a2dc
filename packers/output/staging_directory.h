// A directory that appears under its name only when it is whole.
//
// Everything is written below DST.incomplete, beside DST, which is renamed at the end. A run that fails removes it,
// unless it is told to keep it; a run that was killed leaves it behind, and the next one for the same DST clears it,
// goes on with it, or refuses. A marker file inside, locked while a run lives, tells a leftover from a directory of
// somebody else and from one that is being written right now.
#pragma once

#include <string>

#include "core/fd.h"

namespace feedline {

struct StagingOptions {
    enum class Leftover { clear, keep, refuse };
    Leftover leftover = Leftover::clear;  // what to do with what an unfinished run left
    // A file that shows a directory without the marker to be an unfinished run's all the same: of one that was killed
    // on the last few metres. Empty: there is none.
    std::string last_file;
    bool replace = false;  // DST may exist and not be empty: it is exchanged with the new one, and then removed
};

// Not thread-safe; directory_fd() may be used by many threads.
class StagingDirectory {
public:
    // Throws Error{usage} when the destination exists and is no empty directory, or is a mount point, when its parent
    // is missing, when another run is writing it, or when DST.incomplete is not a leftover of ours; Error{io,
    // out_of_space} when the system refuses. Nothing is touched then.
    explicit StagingDirectory(const std::string& destination, const StagingOptions& options = {});
    // Throws usage as the constructor does, and touches nothing.
    static void require_free(const std::string& destination, const StagingOptions& options);
    // Removes everything unless publish() succeeded. Whenever a directory is removed, `last_file` goes first and the
    // marker last: what a kill leaves of it looks unfinished, and is a leftover.
    ~StagingDirectory();
    StagingDirectory(const StagingDirectory&) = delete;
    StagingDirectory& operator=(const StagingDirectory&) = delete;

    bool has_leftover() const { return has_leftover_; }  // an unfinished run's, kept
    void clear();                                        // removes what is in it
    // What was written stays when the run fails, for a later one that goes on with it.
    void keep() { keep_ = true; }
    int directory_fd() const { return directory_.get(); }
    const std::string& path() const { return staging_path_; }  // for messages

    // Renames to the destination. Everything in it should be on disk before: see syncfs(2). Throws Error{usage, io}.
    void publish();

private:
    void acquire();
    bool put_in_place();
    void remove_replaced();
    void remove_all();

    StagingOptions options_;
    bool has_leftover_ = false;
    bool keep_ = false;

    std::string destination_;  // without trailing slashes
    std::string staging_path_;
    Fd parent_;
    Fd directory_;
    Fd marker_;
    bool published_ = false;
};

}  // namespace feedline
