#include "cli/options.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace feedline {

namespace {

std::string default_size(std::uint64_t bytes) {
    constexpr std::uint64_t kMebibyte = 1U << 20U;
    return bytes % kMebibyte == 0 && bytes > 0 ? fmt::format("{} MiB", bytes / kMebibyte) : fmt::format("{}", bytes);
}

}  // namespace

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& help) {
    return app
        .add_option_function<std::string>(
            name, [&bytes](const std::string& text) { bytes = parse_size(text); },
            fmt::format("{} (default {})", help, default_size(bytes)))
        ->type_name("SIZE");
}

CLI::Validator at_least_one() {
    constexpr std::size_t kMostDigits = 18;  // what fits 64 bits for certain
    return {[](const std::string& text) -> std::string {
                const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
                const bool beyond = digits && text.size() > kMostDigits;
                if (beyond) return fmt::format("'{}' is more than anyone can count", printable(text));
                if (digits && text.find_first_not_of('0') != std::string::npos) return {};
                return fmt::format("'{}' is not a whole number above 0", printable(text));
            },
            "", "at least one"};
}

}  // namespace feedline
