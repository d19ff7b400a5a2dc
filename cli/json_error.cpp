#include "cli/json_error.h"

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/failure_words.h"
#include "core/status_line.h"

namespace feedline {
namespace {

nlohmann::ordered_json to_json(const Error& error) {
    nlohmann::ordered_json json = {{"kind", to_string(error.kind())}, {"message", printable(error.message())}};
    if (!error.path().empty()) json["path"] = printable(error.path());
    if (error.offset_bytes()) json["offset_bytes"] = *error.offset_bytes();
    if (error.error_number() != 0) json["errno"] = error.error_number();
    if (!error.advice().empty()) json["advice"] = printable(error.advice());
    json["exit_code"] = exit_code(error.kind());
    return json;
}

}  // namespace

Ending with_json_errors(bool json, std::string_view schema, const std::function<Ending()>& command) {
    try {
        return command();
    } catch (const std::exception& exception) {
        if (json) {
            const nlohmann::ordered_json line = {{"schema", schema}, {"error", to_json(as_error(exception))}};
            tell(stdout, line.dump() + "\n");
        }
        throw;
    }
}

}  // namespace feedline
