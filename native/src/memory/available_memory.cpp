#include "available_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tilefold {
namespace {

namespace fs = std::filesystem;

// The number that a file holds; nothing where there is none, or "max".
std::optional<std::size_t> numberIn(const fs::path& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The number behind `name` in a file of such lines; 0 where it is not there.
std::size_t fieldOf(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::size_t number = 0;
    if (words >> key >> number && key == name) return number;
  }
  return 0;
}

std::size_t left(std::size_t limit, std::size_t used) { return limit > used ? limit - used : 0; }

std::optional<std::size_t> ofMachine(const fs::path& root) {
  const fs::path file = root / "proc/meminfo";
  const std::size_t kibibytes = fieldOf(file, "MemAvailable:") + fieldOf(file, "SwapFree:");
  return kibibytes == 0 ? std::nullopt : std::optional(kibibytes * 1024);
}

// Where a version of cgroups says its limits, and what of the use is files that can be dropped.
struct Hierarchy {
  fs::path mount;
  const char *limit, *usage, *files;
};

// What one cgroup leaves. Swap is not counted: few machines let a group have any.
std::optional<std::size_t> ofGroup(const fs::path& folder, const Hierarchy& hierarchy) {
  const std::optional<std::size_t> limit = numberIn(folder / hierarchy.limit), usage = numberIn(folder / hierarchy.usage);
  if (!limit || !usage) return std::nullopt;
  return left(*limit, left(*usage, fieldOf(folder / "memory.stat", hierarchy.files)));
}

std::optional<std::size_t> lesser(std::optional<std::size_t> a, std::optional<std::size_t> b) {
  return a && b ? std::min(a, b) : a ? a : b;
}

// The least that a cgroup and those above it leave. A container may not see its own path below the
// mount, but then the mount is its own.
std::optional<std::size_t> ofGroups(const Hierarchy& hierarchy, const fs::path& group) {
  std::optional<std::size_t> least;
  fs::path folder = hierarchy.mount;
  least = ofGroup(folder, hierarchy);
  for (const fs::path& part : group.relative_path()) least = lesser(least, ofGroup(folder /= part, hierarchy));
  return least;
}

// The groups of this process are lines "id:controllers:path", of version 2 "0::path".
std::optional<std::size_t> ofCgroups(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  const Hierarchy first{mount / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
  const Hierarchy second{mount, "memory.max", "memory.current", "inactive_file"};
  std::optional<std::size_t> least;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t from = line.find(':'), to = line.find(':', from + 1);
    if (from == std::string::npos || to == std::string::npos) continue;
    const std::string controllers = "," + line.substr(from + 1, to - from - 1) + ",", path = line.substr(to + 1);
    if (controllers == ",,") least = lesser(least, ofGroups(second, path));
    if (controllers.find(",memory,") != std::string::npos) least = lesser(least, ofGroups(first, path));
  }
  return least;
}

// What a limit of this process leaves, of which /proc/self/status tells the use in KiB under
// `name`.
std::optional<std::size_t> ofLimit(const fs::path& root, __rlimit_resource resource, const char* name) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return left(limit.rlim_cur, fieldOf(root / "proc/self/status", name) * 1024);
}

}  // namespace

std::optional<AvailableMemory> availableMemory(const fs::path& root) {
  std::optional<AvailableMemory> least;
  const auto bound = [&](std::optional<std::size_t> bytes, const char* by) {
    if (bytes && (!least || *bytes < least->bytes)) least = AvailableMemory{*bytes, by};
  };
  bound(ofMachine(root), "free");
  bound(ofCgroups(root), "left by the limit of memory cgroups");
  bound(ofLimit(root, RLIMIT_AS, "VmSize:"), "left by the limit of addresses (ulimit -v)");
  bound(ofLimit(root, RLIMIT_DATA, "VmData:"), "left by the limit of data (ulimit -d)");
  return least;
}

}  // namespace tilefold
