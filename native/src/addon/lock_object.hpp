// A lock on a file, for JavaScript.
#pragma once
#include <napi.h>

namespace tilefold::addon {

// lockFile({ path, owner }): the lock, or 'held' where another has it, or 'unsupported' where the
// file system knows none. It is given back by unlockFile, or when nothing refers to it any more.
Napi::Value lockFile(const Napi::CallbackInfo& info);

// unlockFile(lock): gives it back now; once more does nothing.
Napi::Value unlockFile(const Napi::CallbackInfo& info);

}  // namespace tilefold::addon
