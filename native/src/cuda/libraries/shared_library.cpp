#include "shared_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "../../failure.hpp"

namespace tilefold::cuda {
namespace {

namespace fs = std::filesystem;

// Appends, each once, the folders of NVIDIA's packages under an environment or an installation of
// Python.
void appendPackages(const fs::path& prefix, std::vector<fs::path>& folders) {
  std::error_code error;
  std::vector<fs::path> versions;
  for (const char* lib : {"lib", "local/lib"})
    for (const fs::directory_entry& entry : fs::directory_iterator(prefix / lib, error))
      if (entry.path().filename().string().rfind("python3", 0) == 0) versions.push_back(entry.path());
  std::sort(versions.begin(), versions.end());
  for (const fs::path& version : versions)
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const char* package : {"cu13", "cu12", "cudnn", "cublas", "cuda_nvrtc", "nccl"}) {
        const fs::path folder = version / packages / "nvidia" / package / "lib";
        if (fs::is_directory(folder, error) && std::find(folders.begin(), folders.end(), folder) == folders.end())
          folders.push_back(folder);
      }
}

struct Attempt {
  void* handle = nullptr;
  std::string path, complaint;  // of a file that is there and does not load
};

Attempt attempt(const std::vector<std::string>& names, const std::vector<fs::path>& folders) {
  Attempt last;
  std::error_code error;
  for (const fs::path& folder : folders)
    for (const std::string& name : names) {
      const fs::path path = folder / name;
      if (!folder.empty() && !fs::exists(path, error)) continue;
      last.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      last.path = path.string();
      if (last.handle != nullptr) return last;
      if (!folder.empty()) last.complaint = dlerror();
    }
  return last;
}

}  // namespace

std::vector<fs::path> libraryFolders() {
  std::vector<fs::path> folders;
  std::error_code error;
  if (const char* given = std::getenv("TILEFOLD_CUDNN_PATH"); given != nullptr && *given != '\0') {
    const fs::path path(given);
    if (!path.is_absolute()) throw Failure("TILEFOLD_CUDNN_PATH is " + path.string() + ", which is no absolute path: give one");
    folders.push_back(fs::is_regular_file(path, error) ? path.parent_path() : path);
  }
  folders.emplace_back();
  const char* variable = std::getenv("PATH");
  std::string rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path python = fs::path(rest.substr(0, colon)) / "python3";
    rest.erase(0, colon + 1);
    // Whoever puts a file into the working directory, which other entries mean, shall not have it
    // loaded.
    if (!python.is_absolute() || !fs::exists(python, error)) continue;
    // A virtual environment's python3 is a link to the installation that it was made from.
    appendPackages(python.parent_path().parent_path(), folders);
    appendPackages(fs::canonical(python, error).parent_path().parent_path(), folders);
  }
  return folders;
}

std::string listFolders(const std::vector<fs::path>& folders) {
  std::string text;
  for (const fs::path& folder : folders)
    text += (text.empty() ? "" : ", ") + (folder.empty() ? std::string("the loader's path") : folder.string());
  return text;
}

SharedLibrary SharedLibrary::open(const std::string& title, const std::vector<std::string>& names, const std::vector<fs::path>& folders) {
  const Attempt found = attempt(names, folders);
  if (found.handle != nullptr) return {found.handle, found.path};
  std::string wanted = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) wanted += " or " + names[i];
  throw Failure("the cuda device needs " + title + " (" + wanted + "), which " +
                (found.complaint.empty() ? "is not on " + listFolders(folders) : "does not load (" + found.complaint + ")") +
                ": install it, as pip does with PyTorch, or set TILEFOLD_CUDNN_PATH to its folder");
}

std::optional<SharedLibrary> SharedLibrary::find(const std::vector<std::string>& names, const std::vector<fs::path>& folders) {
  const Attempt found = attempt(names, folders);
  if (found.handle == nullptr) return std::nullopt;
  return SharedLibrary(found.handle, found.path);
}

void* SharedLibrary::address(const char* name) const {
  void* symbol = dlsym(handle_, name);
  if (symbol == nullptr) throw Failure(path_ + " has no function " + name + ": install a newer version, or an older one that still has it");
  return symbol;
}

}  // namespace tilefold::cuda
