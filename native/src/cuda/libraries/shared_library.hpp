// Libraries that are opened at run time, and where they may lie.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilefold::cuda {

// In order: TILEFOLD_CUDNN_PATH (a folder, or a file in it), the loader's own path (the empty
// entry), and what pip has installed with PyTorch for each python3 on PATH:
// lib/python3.*/{site,dist}-packages/nvidia/*/lib under its environment or installation. Entries of
// PATH that are no absolute paths are passed over. Throws Failure where TILEFOLD_CUDNN_PATH is
// none.
std::vector<std::filesystem::path> libraryFolders();

// In words.
std::string listFolders(const std::vector<std::filesystem::path>& folders);

// Stays loaded until the process ends: what CUDA's libraries register at exit needs them.
class SharedLibrary {
 public:
  // The first of `names` in the first of `folders` that has one. Throws Failure, which says what is
  // missing and where it was looked for.
  static SharedLibrary open(const std::string& title, const std::vector<std::string>& names,
                            const std::vector<std::filesystem::path>& folders);
  // Nothing where there is none, or none that loads.
  static std::optional<SharedLibrary> find(const std::vector<std::string>& names, const std::vector<std::filesystem::path>& folders);

  // Sets `function` to the library's of that name; throws Failure when it has none.
  template <class Function>
  void resolve(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
  }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* address(const char* name) const;

  void* handle_;
  std::string path_;
};

}  // namespace tilefold::cuda
