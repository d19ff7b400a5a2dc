#include "bench/context.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <thread>

#include "core/error.h"

namespace feedline {
namespace {

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        // x86 says "model name", Arm only "CPU part".
        if (!line.starts_with("model name") && !line.starts_with("CPU part")) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) return printable(line.substr(colon + 2));
    }
    return "unknown";
}

// Memory that this process may use at most: the machine's, or the least limit of a cgroup above it.
std::uint64_t memory_limit_bytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    std::uint64_t limit =
        pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
    const auto apply = [&](const std::string& path) {
        std::ifstream file(path);
        std::uint64_t value = 0;
        if (file >> value && value > 0) limit = std::min(limit, value);  // "max" does not parse: no limit
    };
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        // "ID:CONTROLLERS:PATH"; version 2 has no controllers.
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool v2 = controllers.empty();
        if (!v2 && controllers.find("memory") == std::string::npos) continue;
        const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const std::string file = v2 ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
            apply(fmt::format("{}{}{}", root, path == "/" ? "" : path, file));
            if (path.empty() || path == "/") break;
        }
    }
    return limit;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text.data(), length};
}

// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): stable over builds, and no secret is kept with it.
std::string hash(std::string_view text) {
    std::uint64_t value = 0xcbf29ce484222325U;
    for (const char c : text) {
        value ^= static_cast<unsigned char>(c);
        value *= 0x100000001b3U;
    }
    return fmt::format("{:016x}", value);
}

}  // namespace

Context make_context(const std::string& command) {
    Context context;
    context.version = FEEDLINE_VERSION;
    context.git = FEEDLINE_GIT;
    context.build_type = FEEDLINE_BUILD_TYPE;
    context.compiler = FEEDLINE_COMPILER;
    context.cuda = FEEDLINE_CUDA;
    context.command = command;
    context.time = utc_now();
    context.cpu = cpu_model();
    context.cores = std::thread::hardware_concurrency();
    context.memory_bytes = memory_limit_bytes();
    utsname kernel{};
    context.kernel = ::uname(&kernel) == 0 ? kernel.release : "unknown";
    constexpr std::uint64_t kGiB = 1ULL << 30U;
    context.fingerprint =
        hash(fmt::format("{}|{}|{}|{}|{}|{}|{}", context.cpu, context.cores, (context.memory_bytes + kGiB / 2) / kGiB,
                         context.kernel, context.build_type, context.compiler, context.cuda));
    return context;
}

}  // namespace feedline
