#include "bench/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "core/presets.h"
#include "core/units.h"

namespace feedline {
namespace {

template <typename T>
struct Names;
template <>
struct Names<OrderMode> {
    static constexpr std::array all{std::pair{"shuffle", OrderMode::shuffle},
                                    std::pair{"sequential", OrderMode::sequential}};
};
template <>
struct Names<DecodeMode> {
    static constexpr std::array all{std::pair{"none", DecodeMode::none}, std::pair{"crc", DecodeMode::crc},
                                    std::pair{"jpeg", DecodeMode::jpeg}};
};
template <>
struct Names<CheckMode> {
    static constexpr std::array all{std::pair{"off", CheckMode::off}, std::pair{"sampled", CheckMode::sampled},
                                    std::pair{"all", CheckMode::all}};
};
template <>
struct Names<CacheMode> {
    static constexpr std::array all{std::pair{"cold", CacheMode::cold}, std::pair{"warm", CacheMode::warm},
                                    std::pair{"as-is", CacheMode::as_is}};
};
template <>
struct Names<StepKernel> {
    static constexpr std::array all{std::pair{"spin", StepKernel::spin}, std::pair{"gemm", StepKernel::gemm}};
};
template <>
struct Names<OnError> {
    static constexpr std::array all{std::pair{"stop", OnError::stop}, std::pair{"skip", OnError::skip}};
};

[[noreturn]] void refuse(const OptionInfo& info, std::string_view why) {
    throw Error(ErrorKind::usage, fmt::format("--{}: {}", info.name, why));
}

template <typename T>
void read_value(const OptionInfo& info, std::string_view text, T& value) {
    if constexpr (std::is_enum_v<T>) {
        for (const auto& [name, meaning] : Names<T>::all) {
            if (text == name) {
                value = meaning;
                return;
            }
        }
        refuse(info, fmt::format("'{}' is none of {}", printable(text), info.value));
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (text.empty()) refuse(info, "is empty");
        value = text;
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        if (info.repeatable) {
            value.emplace_back(text);
            return;
        }
        value.clear();
        while (true) {
            const std::size_t comma = text.find(',');
            if (text.substr(0, comma).empty()) refuse(info, "has an empty entry");
            value.emplace_back(text.substr(0, comma));
            if (comma == std::string_view::npos) return;
            text.remove_prefix(comma + 1);
        }
    } else if constexpr (std::is_same_v<T, Nanoseconds> || std::is_same_v<T, double>) {
        try {
            if constexpr (std::is_same_v<T, double>) {
                value = parse_rate(text);
            } else {
                value = parse_time(text);
            }
        } catch (const Error& error) {
            refuse(info, error.message());
        }
        if (value == 0 && !info.zero) refuse(info, "must be more than 0");
    } else if constexpr (std::is_same_v<T, std::optional<Nanoseconds>>) {
        Nanoseconds given = 0;
        read_value(info, text, given);
        value = given;
    } else {
        static_assert(std::is_unsigned_v<T>);
        const char* end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, value);
        if (problem == std::errc::result_out_of_range) {
            refuse(info, fmt::format("'{}' is too large", printable(text)));
        }
        if (problem != std::errc{} || rest != end) {
            refuse(info, fmt::format("'{}' is not a whole number{}", printable(text), info.zero ? "" : " above 0"));
        }
        if (value == 0 && !info.zero) refuse(info, "must be 1 or more");
    }
}

// Not given, by the convention of BenchOptions: 0, "", an empty list, an absent optional.
template <typename T>
bool is_unset(const OptionInfo& info, const T& value) {
    if constexpr (std::is_same_v<T, std::optional<Nanoseconds>>) {
        return !value.has_value();
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>) {
        return value.empty();
    } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
        return value == 0 && !info.zero;
    } else {
        return false;
    }
}

template <typename T>
std::string to_text(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        for (const auto& [name, meaning] : Names<T>::all) {
            if (value == meaning) return name;
        }
        return {};
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? "on" : "off";
    } else if constexpr (std::is_same_v<T, std::string>) {
        return printable(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        std::string text;
        for (const std::string& entry : value) text += (text.empty() ? "" : ",") + printable(entry);
        return text;
    } else if constexpr (std::is_same_v<T, Nanoseconds>) {
        return format_time(value);
    } else if constexpr (std::is_same_v<T, std::optional<Nanoseconds>>) {
        return value ? format_time(*value) : "";
    } else if constexpr (std::is_same_v<T, double>) {
        return format_rate(value);
    } else {
        return std::to_string(value);
    }
}

template <typename T>
nlohmann::ordered_json value_json(const OptionInfo& info, const T& value) {
    if (is_unset(info, value) && !std::is_same_v<T, std::vector<std::string>>) return nullptr;
    if constexpr (std::is_same_v<T, Nanoseconds>) {
        return to_seconds(value);
    } else if constexpr (std::is_same_v<T, std::optional<Nanoseconds>>) {
        return to_seconds(value.value_or(0));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        if (!info.repeatable) return to_text(value);
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const std::string& entry : value) list.push_back(printable(entry));
        return list;
    } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::string>) {
        return to_text(value);
    } else {
        return value;
    }
}

std::string json_name(std::string_view option) {
    std::string name(option);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace

std::string list_workloads() {
    std::string text =
        fmt::format("{:<24}{:>8}{:>12}  {:>12}  {:>12}\n", "workload", "batch", "step", "sample", "asks for");
    for (const Preset& preset : presets()) {
        text += fmt::format("{:<24}{:>8}{:>12}  {:>12}  {:>12}\n", preset.name, preset.batch_size,
                            format_time(preset.step_ns), format_size(static_cast<double>(preset.record_bytes)),
                            format_rate(preset.bytes_per_second()));
    }
    return text + "Figures are for one accelerator. As in: feedline bench /data/train --workload resnet50-h100";
}

std::string_view title(OptionGroup group) {
    switch (group) {
        case OptionGroup::what: return "What is measured";
        case OptionGroup::reading: return "How it is read";
        case OptionGroup::accelerator: return "The accelerator";
        case OptionGroup::run: return "How long";
        case OptionGroup::output: return "What comes out";
    }
    return "";
}

std::vector<OptionBinding> bind_options(BenchOptions& options) {
    std::vector<OptionBinding> bindings;
    visit_options(options, [&](const OptionInfo& info, auto& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        OptionBinding binding;
        binding.info = info;
        binding.help = info.help;
        if constexpr (std::is_same_v<Member, bool>) {
            binding.is_switch = true;
            binding.negatable = member;
            binding.help += fmt::format(" (default {})", to_text(member));
            binding.set = [info, &member](const std::string& text) {
                if (text != "true" && text != "false") refuse(info, "takes no value");
                member = text == "true";
            };
        } else {
            const std::string given = is_unset(info, member) ? std::string(info.unset) : to_text(member);
            binding.help += fmt::format(" (default {})", given);
            binding.set = [info, &member](const std::string& text) { read_value(info, text, member); };
        }
        bindings.push_back(std::move(binding));
    });
    return bindings;
}

DatasetArgument parse_dataset_argument(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string label = text.substr(0, equals);
    const auto in_a_label = [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '-';
    };
    if (equals != std::string::npos && !label.empty() && std::all_of(label.begin(), label.end(), in_a_label)) {
        if (equals + 1 == text.size()) {
            throw Error(ErrorKind::usage, fmt::format("'{}' names a tier and no path", printable(text)));
        }
        return {label, text.substr(equals + 1)};
    }
    std::string path = text;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    std::string name = std::filesystem::path(path).filename().string();
    if (name.empty() || name == "." || name == "..") name = path;
    return {name, text};
}

nlohmann::ordered_json config_json(const BenchOptions& options) {
    nlohmann::ordered_json config = nlohmann::ordered_json::object();
    visit_options(options, [&](const OptionInfo& info, const auto& member) {
        config[json_name(info.name)] = value_json(info, member);
    });
    return config;
}

std::string changed_options(const BenchOptions& options) {
    const nlohmann::ordered_json defaults = config_json(BenchOptions{});
    std::string text;
    visit_options(options, [&](const OptionInfo& info, const auto& member) {
        if (info.group == OptionGroup::output || value_json(info, member) == defaults[json_name(info.name)]) return;
        if (!text.empty()) text += ' ';
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, bool>) {
            text += fmt::format("--{}{}", member ? "" : "no-", info.name);
        } else {
            text += fmt::format("--{} {}", info.name, to_text(member));
        }
    });
    return text;
}

}  // namespace feedline
