#include "cli/plain_words.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/similar.h"

namespace feedline {
namespace {

// `text` without `prefix`, up to `end`.
std::string between(std::string_view text, std::string_view prefix, std::string_view end) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    return std::string(text.substr(0, text.find(end)));
}

std::vector<std::string> names_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_fnames()) names.push_back("--" + name);
    }
    for (const CLI::App* sub : command.get_subcommands({})) names.push_back(sub->get_name());
    return names;
}

std::string unexpected(std::string_view what, const CLI::App& command) {
    const std::size_t colon = what.find(": ");
    const std::string_view words = colon == std::string_view::npos ? what : what.substr(colon + 2);
    // What stands beside an option that there is not is its value, as a rule.
    const std::size_t dash = words.starts_with('-') ? 0 : words.find(" -");
    const std::string first = between(dash == std::string_view::npos ? words : words.substr(dash), " ", " ");
    const bool several = command.get_parent() == nullptr;
    const std::string near = did_you_mean(between(first, "", "="), names_of(command));
    if (first.starts_with("-")) return fmt::format("there is no option {}{}", printable(first), near);
    if (several) return fmt::format("there is no subcommand '{}'{}", printable(first), near);
    return fmt::format("'{}' is one argument too many", printable(first));
}

std::string mismatch(std::string_view what, const CLI::App& command) {
    const std::string name = between(what, "", ":");
    if (what.find("At Most") != std::string_view::npos || what.starts_with("Expected exactly")) {
        return fmt::format("{} is given more than once; give it once", name);
    }
    const CLI::Option* option = command.get_option_no_throw(name);
    return option == nullptr ? fmt::format("{} needs a value", name)
                             : fmt::format("{} needs a value: {} {}", name, name, option->get_type_name());
}

}  // namespace

std::string in_plain_words(const CLI::ParseError& error, const CLI::App& command) {
    const std::string what = error.what();
    const auto pair = [&](std::string_view verb) {
        const std::size_t at = what.find(verb);
        return std::pair(what.substr(0, at), at == std::string::npos ? "" : what.substr(at + verb.size()));
    };
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(what, command);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatch(what, command);
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        return fmt::format("{} is missing", between(what, "", " is required"));
    }
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
        const auto [one, other] = pair(" excludes ");
        return fmt::format("{} and {} cannot be given together; leave one of them out", one, other);
    }
    if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
        const auto [one, other] = pair(" requires ");
        return fmt::format("{} is for use with {}, which was not given", one, other);
    }
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && what.starts_with("Could not convert: ")) {
        const auto [text, value] = pair(" = ");
        const std::string name = between(text, "Could not convert: ", " = ");
        const CLI::Option* option = command.get_option_no_throw(name);
        const std::string type = option == nullptr ? "" : option->get_type_name();
        if (type.find('|') != std::string::npos) {
            return fmt::format("{}: '{}' is none of {}", name, printable(value), type);
        }
        return fmt::format("{}: '{}' is not a number", name, printable(value));
    }
    return printable(what);
}

}  // namespace feedline
