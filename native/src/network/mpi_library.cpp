#include "mpi_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>

#include "../failure.hpp"

namespace tilefold {
namespace {

class Loaded {
 public:
  // The first of the names that the loader knows.
  Loaded(const std::vector<std::string>& names, const std::string& title) {
    std::string looked;
    for (const std::string& name : names) {
      // Open MPI's parts, which it loads itself, look for it among what is global.
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (handle_ != nullptr) {
        path_ = name;
        return;
      }
      const char* complaint = dlerror();
      looked += (looked.empty() ? "" : "; ") + std::string(complaint == nullptr ? name : complaint);
    }
    throw Failure("the launcher is " + title + "'s, whose library does not load (" + looked + "): install " + title +
                  ", or set TILEFOLD_MPI_PATH to its library");
  }

  // The file's own name.
  std::string name() const { return path_.substr(path_.rfind('/') + 1); }

  bool has(const char* name) const { return dlsym(handle_, name) != nullptr; }

  void* find(const char* name) const {
    void* symbol = dlsym(handle_, name);
    if (symbol == nullptr) throw Failure(path_ + " has no " + name + ": set TILEFOLD_MPI_PATH to the library of the launcher's MPI");
    return symbol;
  }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

// Handles are addresses of the library's own objects.
struct OpenMpi {
  using Handle = void*;
  static constexpr const char* title = "Open MPI";
  static Handle world(const Loaded& library) { return library.find("ompi_mpi_comm_world"); }
  static Handle byte(const Loaded& library) { return library.find("ompi_mpi_byte"); }
  static Handle errorsReturn(const Loaded& library) { return library.find("ompi_mpi_errors_return"); }
  static void* ignoredStatuses() { return nullptr; }
};

// Handles are numbers, the same in all libraries of MPICH's ABI initiative.
struct Mpich {
  using Handle = int;
  static constexpr const char* title = "MPICH";
  static Handle world(const Loaded& library) {
    if (library.has("ompi_mpi_comm_world"))
      throw Failure("the launcher is MPICH's, but " + library.name() +
                    " is Open MPI's: set TILEFOLD_MPI_PATH to MPICH's library, or start the ranks with Open MPI's launcher");
    return 0x44000000;
  }
  static Handle byte(const Loaded&) { return 0x4c00010d; }
  static Handle errorsReturn(const Loaded&) { return 0x54000001; }
  static void* ignoredStatuses() { return reinterpret_cast<void*>(std::intptr_t{1}); }
};

// Handles are addresses, of which those that the standard names are small numbers: "MPI: A
// Message-Passing Interface Standard, Version 5.0", chapter "MPI Application Binary Interface".
struct StandardMpi {
  using Handle = void*;
  static constexpr const char* title = "MPI";
  static Handle named(std::intptr_t value) { return reinterpret_cast<Handle>(value); }
  static Handle world(const Loaded&) { return named(0x101); }
  static Handle byte(const Loaded&) { return named(0x247); }
  static Handle errorsReturn(const Loaded&) { return named(0x143); }
  static void* ignoredStatuses() { return nullptr; }
};

constexpr int messageTag = 7;
constexpr std::size_t longestText = 8192;  // longer than MPI_MAX_ERROR_STRING of either

// The calls of one binary interface.
template <class Abi>
class LoadedMpi : public MpiLibrary {
 public:
  using Handle = typename Abi::Handle;

  explicit LoadedMpi(Loaded loaded)
      : loaded_(std::move(loaded)),
        world_(Abi::world(loaded_)),
        byte_(Abi::byte(loaded_)) {
    resolve("MPI_Init", init_);
    resolve("MPI_Comm_set_errhandler", setErrorHandler_);
    resolve("MPI_Error_string", errorString_);
    resolve("MPI_Comm_rank", commRank_);
    resolve("MPI_Comm_size", commSize_);
    resolve("MPI_Isend", isend_);
    resolve("MPI_Irecv", irecv_);
    resolve("MPI_Test", test_);
    resolve("MPI_Testall", testAll_);
    resolve("MPI_Finalize", finalize_);
    resolve("MPI_Abort", abort_);
  }

  void start() override {
    check("MPI_Init", init_(nullptr, nullptr));
    check("MPI_Comm_set_errhandler", setErrorHandler_(world_, Abi::errorsReturn(loaded_)));
  }

  int rank() override {
    int rank = 0;
    check("MPI_Comm_rank", commRank_(world_, &rank));
    return rank;
  }

  int size() override {
    int size = 0;
    check("MPI_Comm_size", commSize_(world_, &size));
    return size;
  }

  void send(const std::byte* bytes, std::size_t count, int to) override {
    check("MPI_Isend", isend_(bytes, static_cast<int>(count), byte_, to, messageTag, world_, &requests_.emplace_back()));
    peers_.push_back(to);
  }

  void receive(std::byte* bytes, std::size_t count, int from) override {
    check("MPI_Irecv", irecv_(bytes, static_cast<int>(count), byte_, from, messageTag, world_, &requests_.emplace_back()));
    peers_.push_back(from);
  }

  bool done() override {
    int all = 0;
    check("MPI_Testall", testAll_(static_cast<int>(requests_.size()), requests_.data(), &all, Abi::ignoredStatuses()));
    if (all == 0) return false;
    requests_.clear();
    peers_.clear();
    return true;
  }

  std::vector<int> missing() override {
    std::set<int> ranks;
    for (std::size_t request = 0; request < requests_.size(); ++request) {
      int isDone = 0;
      check("MPI_Test", test_(&requests_[request], &isDone, Abi::ignoredStatuses()));
      if (isDone == 0) ranks.insert(peers_[request]);
    }
    return {ranks.begin(), ranks.end()};
  }

  void finish() override { check("MPI_Finalize", finalize_()); }
  void abort(int status) override { abort_(world_, status); }

 private:
  template <class Function>
  void resolve(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(loaded_.find(name));
  }

  void check(const char* call, int code) {
    if (code == 0) return;
    std::array<char, longestText> text{};
    int length = 0;
    const bool known = errorString_(code, text.data(), &length) == 0;
    throw Failure(std::string(Abi::title) + "'s " + call + " failed (" + (known ? text.data() : "error " + std::to_string(code)) + ")");
  }

  Loaded loaded_;
  Handle world_, byte_;
  std::vector<Handle> requests_;
  std::vector<int> peers_;  // the rank that each of them is sent to, or comes from
  int (*init_)(int*, char***) = nullptr;
  int (*setErrorHandler_)(Handle, Handle) = nullptr;
  int (*errorString_)(int, char*, int*) = nullptr;
  int (*commRank_)(Handle, int*) = nullptr;
  int (*commSize_)(Handle, int*) = nullptr;
  int (*isend_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*irecv_)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*test_)(Handle*, int*, void*) = nullptr;
  int (*testAll_)(int, Handle*, int*, void*) = nullptr;
  int (*finalize_)() = nullptr;
  int (*abort_)(Handle, int) = nullptr;
};

}  // namespace

std::unique_ptr<MpiLibrary> openMpiLibrary(MpiKind kind, const std::string& path) {
  const bool isMpich = kind == MpiKind::mpich;
  if (isMpich) {
    // UCX watches allocations and signals by itself, which ends processes that have a virtual
    // machine with many threads (docs/ranks.md).
    setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 0);
    setenv("UCX_ERROR_SIGNALS", "", 0);
  } else {
    // Over TCP messages that are put, as is usual, take twice as long where both sides send; those
    // that are sent (1), from where they lie (8), go both ways at once (docs/ranks.md).
    setenv("OMPI_MCA_btl_tcp_flags", "9", 0);
  }
  std::vector<std::string> names = isMpich ? std::vector<std::string>{"libmpi.so.12", "libmpich.so.12"}
                                           : std::vector<std::string>{"libmpi.so.40", "libmpi.so"};
  names.emplace_back("libmpi_abi.so.1");
  if (!path.empty()) names = {path};
  Loaded loaded(names, isMpich ? Mpich::title : OpenMpi::title);
  if (loaded.name().rfind("libmpi_abi", 0) == 0) return std::make_unique<LoadedMpi<StandardMpi>>(std::move(loaded));
  if (isMpich) return std::make_unique<LoadedMpi<Mpich>>(std::move(loaded));
  return std::make_unique<LoadedMpi<OpenMpi>>(std::move(loaded));
}

}  // namespace tilefold
