#include "interrupt_watch.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "event_linux.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

using Clock = std::chrono::steady_clock;

enum class Wait { no, brief, unlimited, ended };

Wait waitNamed(const std::string& name) {
  if (name == "not") return Wait::no;
  if (name == "briefly") return Wait::brief;
  if (name == "long") return Wait::unlimited;
  if (name == "ended") return Wait::ended;
  throw Failure("there is no wait '" + name + "': use not, briefly, long or ended");
}

std::atomic<int> handlerDescriptor{-1};

void onSignal(int) {
  const int error = errno;
  Event::add(handlerDescriptor);
  errno = error;
}

void writeAll(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}

struct Farewell {
  int status;
  std::string error, output;
  std::chrono::milliseconds patience;
};

// Lives as long as the process: a Ctrl-C counts while it ends, too.
class Watch {
 public:
  Watch(Farewell farewell, Napi::ThreadSafeFunction onInterrupt) : farewell_(std::move(farewell)), onInterrupt_(std::move(onInterrupt)) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  static std::shared_ptr<Watch> begin(Farewell farewell, Napi::ThreadSafeFunction onInterrupt) {
    auto watch = std::make_shared<Watch>(std::move(farewell), std::move(onInterrupt));
    std::thread([watch] { watch->serve(); }).detach();
    handlerDescriptor = watch->signals_.descriptor();
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGINT, &action, nullptr) != 0)
      throw Failure(std::string("SIGINT could not be taken over (") + std::strerror(errno) + ")");
    return watch;
  }

  // JavaScript hears no more of it, since its environment ends.
  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    onInterrupt_.Release();
  }

  void set(Wait wait) {
    const std::lock_guard<std::mutex> lock(mutex_);
    wait_ = wait;
    const bool limited = interrupts_ > 0 && (wait == Wait::brief || wait == Wait::ended);
    deadline_ = limited ? std::optional(Clock::now() + farewell_.patience) : std::nullopt;
    changes_.add();
  }

 private:
  void serve() {
    while (true) {
      pollfd files[] = {{signals_.descriptor(), POLLIN, 0}, {changes_.descriptor(), POLLIN, 0}};
      poll(files, 2, millisecondsLeft());
      const std::lock_guard<std::mutex> lock(mutex_);
      changes_.take();
      if (const std::uint64_t count = signals_.take(); count > 0) hear(count);
      if (deadline_ && Clock::now() >= *deadline_) leave();
    }
  }

  int millisecondsLeft() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!deadline_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
    return left > 0 ? static_cast<int>(left) : 0;
  }

  void hear(std::uint64_t count) {
    interrupts_ += count;
    if (interrupts_ > 1 || wait_ == Wait::no || wait_ == Wait::ended || closed_) leave();
    if (wait_ == Wait::brief) deadline_ = Clock::now() + farewell_.patience;
    // Refused only where the environment is about to close.
    onInterrupt_.NonBlockingCall();
  }

  // With the mutex held, so that nobody begins to say how it ended.
  [[noreturn]] void leave() {
    std::signal(SIGINT, SIG_DFL);  // who reads the output may not answer either
    if (wait_ != Wait::ended) {
      writeAll(STDERR_FILENO, farewell_.error);
      writeAll(STDOUT_FILENO, farewell_.output);
    }
    // Threads that wait for a file would never be joined.
    std::_Exit(farewell_.status);
  }

  const Farewell farewell_;
  Napi::ThreadSafeFunction onInterrupt_;
  Event signals_, changes_;
  std::mutex mutex_;
  Wait wait_ = Wait::no;
  std::uint64_t interrupts_ = 0;
  std::optional<Clock::time_point> deadline_;
  bool closed_ = false;
};

std::atomic<bool> isWatched{false};

}  // namespace

Napi::Value watchInterrupts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    if (!info[1].IsFunction()) throw Failure("onInterrupt is no function");
    Farewell farewell{static_cast<int>(countOf(options, "status")), textOf(options, "error"), textOf(options, "output"),
                      std::chrono::milliseconds(countOf(options, "milliseconds"))};
    if (isWatched.exchange(true)) throw Failure("interrupts are watched already");
    auto onInterrupt = Napi::ThreadSafeFunction::New(env, info[1].As<Napi::Function>(), "onInterrupt", 0, 1);
    onInterrupt.Unref(env);
    const auto watch = Watch::begin(std::move(farewell), onInterrupt);
    info.Env().AddCleanupHook([watch] { watch->close(); });
    return Napi::Function::New(env, [watch](const Napi::CallbackInfo& call) {
      return guarded(call.Env(), [&]() -> Napi::Value {
        if (!call[0].IsString()) throw Failure("the wait is no string");
        watch->set(waitNamed(call[0].As<Napi::String>().Utf8Value()));
        return call.Env().Undefined();
      });
    });
  });
}

}  // namespace tilefold::addon
