// Failures for programs that read JSON.
#pragma once

#include <functional>
#include <string_view>

#include "cli/command.h"

namespace feedline {

// Runs `command`. What it throws goes on; with `json` a line of JSON on stdout says it too: {"schema", "error":
// {"kind", "message", "exit_code"}}, and in "error" "path", "offset_bytes", "errno" and "advice" where they are known.
Ending with_json_errors(bool json, std::string_view schema, const std::function<Ending()>& command);

}  // namespace feedline
