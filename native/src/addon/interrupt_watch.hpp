// Ctrl-C, answered whatever the main thread does: it may be planning, or wait for a file that does
// not answer.
#pragma once
#include <napi.h>

namespace tilefold::addon {

// watchInterrupts({ status, error, output, milliseconds }, onInterrupt) takes SIGINT over for the
// process, once, and answers with a function of how long a Ctrl-C is waited for from then on:
// "not", "briefly" or "long". The first SIGINT calls `onInterrupt`; where the process still runs
// after that wait (`milliseconds`, where it is brief), and at the second SIGINT, it ends with
// `status`, once `error` and `output` are written to its standard error and output. The wait
// "ended" says that all is said: after a SIGINT the process ends within `milliseconds`, without a
// word.
Napi::Value watchInterrupts(const Napi::CallbackInfo& info);

}  // namespace tilefold::addon
