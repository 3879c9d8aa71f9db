// What memory cgroups and the machine leave, from trees of files like /proc and /sys.
#include "memory/available_memory.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests.hpp"

namespace tilefold::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t mebi = 1024 * 1024;
constexpr int notKept = 2;  // an exit status

// A folder of its own with such files, removed in the end.
class Tree {
 public:
  explicit Tree(const std::map<std::string, std::string>& files) : root_(made()) {
    for (const auto& [path, text] : files) {
      fs::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path) << text;
    }
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  const fs::path& root() const { return root_; }

 private:
  static fs::path made() {
    std::string name = (fs::temp_directory_path() / "tilefold-memory-XXXXXX").string();
    return mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
  }
  fs::path root_;
};

// 1025 MiB.
const std::string machine = "MemTotal: 2000000 kB\nMemAvailable: 1048576 kB\nSwapFree: 1024 kB\n";

std::string text(std::size_t mebibytes) { return std::to_string(mebibytes * mebi) + "\n"; }

struct Case {
  const char* what;
  std::map<std::string, std::string> files;
  std::optional<std::size_t> mebibytes;
};

const Case cases[] = {
    {"a system that says nothing", {}, std::nullopt},
    {"a machine without cgroups", {{"proc/meminfo", machine}}, 1025},
    {"version 2: less than the machine, files count as free",
     {{"proc/meminfo", machine},
      {"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/b/memory.max", text(250)},
      {"sys/fs/cgroup/a/b/memory.current", text(100)},
      {"sys/fs/cgroup/a/b/memory.stat", "anon 5\ninactive_file " + text(30)}},
     180},
    {"version 2: a group above has less",
     {{"proc/meminfo", machine},
      {"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/memory.max", text(120)},
      {"sys/fs/cgroup/a/memory.current", text(110)},
      {"sys/fs/cgroup/a/b/memory.max", "max\n"},
      {"sys/fs/cgroup/a/b/memory.current", text(100)}},
     10},
    {"version 2: more is used than the limit",
     {{"proc/meminfo", machine},
      {"proc/self/cgroup", "0::/a\n"},
      {"sys/fs/cgroup/a/memory.max", text(50)},
      {"sys/fs/cgroup/a/memory.current", text(60)}},
     0},
    {"version 2: no limit", {{"proc/meminfo", machine}, {"proc/self/cgroup", "0::/\n"}}, 1025},
    {"version 1, among others",
     {{"proc/meminfo", machine},
      {"proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job/7\n0::/\n"},
      {"sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", text(300)},
      {"sys/fs/cgroup/memory/job/7/memory.usage_in_bytes", text(200)},
      {"sys/fs/cgroup/memory/job/7/memory.stat", "total_inactive_file " + text(100)}},
     200},
    {"version 1 in a container, whose path is not below its mount",
     {{"proc/meminfo", machine},
      {"proc/self/cgroup", "4:memory:/docker/abc\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", text(64)},
      {"sys/fs/cgroup/memory/memory.usage_in_bytes", text(4)}},
     60},
};

// Whether a process sees what a limit leaves: one so high that it stops nobody, beside files that
// say it is nearly used up. Nothing where limits are not kept, as in qemu's user mode.
std::optional<bool> seesLimit() {
  const std::size_t limit = std::size_t{1} << 50;
  const Tree tree({{"proc/self/status", "VmData: " + std::to_string((limit - 5 * mebi) / 1024) + " kB\n"}});
  const pid_t child = fork();
  if (child == 0) {
    const rlimit lowered{limit, limit};
    rlimit kept{};
    if (setrlimit(RLIMIT_DATA, &lowered) != 0 || getrlimit(RLIMIT_DATA, &kept) != 0) _exit(1);
    if (kept.rlim_cur != limit) _exit(notKept);
    const std::optional<AvailableMemory> available = availableMemory(tree.root());
    _exit(available && available->bytes == 5 * mebi && available->bound.find("ulimit -d") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return false;
  if (WEXITSTATUS(status) == notKept) return std::nullopt;
  return WEXITSTATUS(status) == 0;
}

}  // namespace

int checkAvailableMemory() {
  int failures = 0;
  for (const Case& one : cases) {
    const Tree tree(one.files);
    const std::optional<AvailableMemory> found = availableMemory(tree.root());
    const bool right = found.has_value() == one.mebibytes.has_value() && (!found || found->bytes == *one.mebibytes * mebi);
    if (right) continue;
    ++failures;
    std::printf("available memory: %s: %zu bytes\n", one.what, found ? found->bytes : 0);
  }
  const std::optional<bool> seen = seesLimit();
  if (!seen) std::printf("available memory: this system keeps no limit of data\n");
  if (seen && !*seen) {
    ++failures;
    std::printf("available memory: the limit of data is not seen\n");
  }
  std::printf("available memory: %d failures\n", failures);
  return failures;
}

}  // namespace tilefold::test
