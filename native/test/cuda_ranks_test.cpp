// Ranks on GPUs: what they exchange by the emulated NCCL (emulated_cuda/nccl.cpp), all in this
// process, against ranks on the reference device; and the sentence of each call that fails.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "fake_gpu.hpp"
#include "interpreter/interpreter.hpp"
#include "network/local_network.hpp"

namespace tilefold::test {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<double>;

int failures = 0;

void expect(bool truth, const std::string& what) {
  if (truth) return;
  ++failures;
  std::printf("cuda ranks: %s\n", what.c_str());
}

Numbers operator+(Numbers left, const Numbers& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

constexpr double compute = 0, network = 3, copyBox = static_cast<double>(static_cast<int>(KernelKind::copyBox));
constexpr int mostRanks = 4, steps = 4;
// So many gather by doubling.
constexpr int manyRanks = 16;
constexpr double page = 1 << 21;

Numbers at(double base) { return {base, 0, 0, 0}; }
Numbers in(double base) { return Numbers{2} + at(base); }
Numbers arena(double base) { return Numbers{1} + at(base); }
Numbers launch(double kernel, const Numbers& from, const Numbers& to) { return Numbers{1, kernel, 2} + from + to; }
Numbers onNetwork(double event, const Numbers& code, const Numbers& meanwhile = {}) {
  return Numbers{4, compute, event, 5, network, event} + code + meanwhile + Numbers{4, network, event + 1, 5, compute, event + 1};
}

// mostRanks numbers go in, a number to each rank; what comes is sent on in a ring, and a rank's own
// slice of it is added. Of many ranks the first number goes to all, and those of the last come out.
// With pages, one is mapped and let go while all send to all, and nothing else is exchanged.
EncodedProgram program(int ranks, int rank, bool hasPages) {
  const double n = ranks, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const Numbers toAll = Numbers{9, n, 1, 8, 8, 8} + at(0) + at(64);
  const Numbers ring{10, n, 1, 1, next, 8 * n, 64, before, 8 * n, 128};
  const Numbers own = Numbers{11, n, 8} + at(128) + at(192);
  const Numbers gather = Numbers{9, n, 1, 8, 0, 8} + at(0) + at(64);
  const Numbers first = launch(0, in(0), arena(0));
  EncodedProgram encoded;
  encoded.arenaBytes = 512;
  encoded.peakBytes = 200;
  encoded.input = {1, 1, 1, 1};
  encoded.kernels = Numbers{copyBox, 1, 1, 1, mostRanks, 0, 0, 0, 0, 0, 0, 0, 0} + Numbers{copyBox, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0};
  encoded.workspaces = Numbers(2, 0x1p46);
  Numbers code = ranks <= mostRanks ? first + onNetwork(0, toAll) + onNetwork(2, ring) + own + launch(1, arena(192), arena(128)) +
                                          launch(0, arena(128), in(8 * mostRanks))
                                    : first + onNetwork(0, gather) + launch(0, arena(64 + 8 * (n - mostRanks)), in(8 * mostRanks));
  if (hasPages) {
    encoded.pageBytes = encoded.residentBytes = page;
    encoded.arenaBytes = encoded.peakBytes = encoded.addressBytes = 2 * page;
    const Numbers mapAndUnmap{7, page, page, page, 8, page, page};
    code = first + onNetwork(0, toAll, mapAndUnmap) + launch(0, arena(64), in(8 * mostRanks));
  }
  encoded.sections = {{"step", code, 16 * mostRanks}};
  return encoded;
}

struct Outcome {
  Numbers numbers;  // of all steps
  std::string sentence;
  bool isWhole = true;
};

struct Options {
  std::int64_t mostMilliseconds = 0;
  int refusesGraphs = -1;             // a rank whose kernels cannot be captured
  int missing = -1;                   // a rank that does not come
  int leaving = -1;                   // a rank that comes to two steps, and no more
  bool hasPages = false;
  std::chrono::milliseconds ends{0};  // after which all runs are to end
};

Outcome runRank(std::shared_ptr<Network> ranks, Device& device, const Options& options) {
  Outcome outcome;
  try {
    ranks->limitWaits(options.mostMilliseconds);
    Interpreter interpreter(decodeProgram(program(ranks->size(), ranks->rank(), options.hasPages), device), device, 0, {}, ranks);
    if (options.missing == ranks->rank()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(4 * options.mostMilliseconds));
      return outcome;
    }
    for (int step = 0; step < steps && outcome.isWhole; ++step) {
      if (options.leaving == ranks->rank() && step == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4 * options.mostMilliseconds));
        return outcome;
      }
      Numbers stepIo(2 * mostRanks);
      for (int i = 0; i < mostRanks; ++i) stepIo[static_cast<std::size_t>(i)] = 1.0 / (1 + i + 10 * ranks->rank() + 100 * step);
      Progress progress;
      progress.begin();
      std::thread ending;
      if (options.ends.count() > 0) ending = std::thread([&] {
        std::this_thread::sleep_for(options.ends);
        progress.end();
      });
      try {
        outcome.isWhole = interpreter.run(interpreter.program().sections[0], reinterpret_cast<std::byte*>(stepIo.data()), {}, progress);
      } catch (const Failure& failure) {
        outcome.sentence = failure.what();
        outcome.isWhole = false;
      }
      if (ending.joinable()) ending.join();
      outcome.numbers.insert(outcome.numbers.end(), stepIo.begin(), stepIo.end());
    }
  } catch (const Failure& failure) {
    outcome.sentence = failure.what();
  }
  return outcome;
}

std::vector<Outcome> run(int ranks, bool onGpus, const Options& options = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  const auto networks = makeLocalNetworks(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      const auto& own = networks[static_cast<std::size_t>(rank)];
      if (onGpus) {
        FakeGpu gpu;
        gpu.waits = options.refusesGraphs == rank;
        outcome = runRank(own, gpu, options);
      } else {
        outcome = runRank(own, *makeReferenceDevice(Precision::float64), options);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

void expectSame(const std::vector<Outcome>& found, const std::vector<Outcome>& wanted, const std::string& what) {
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    expect(found[rank].sentence.empty(), what + ": " + found[rank].sentence);
    expect(found[rank].isWhole && found[rank].numbers == wanted[rank].numbers,
           what + ": rank " + std::to_string(rank) + " has other numbers");
  }
}

void ranksExchangeTheSameBits() {
  for (const int ranks : {1, 2, 3, mostRanks, manyRanks}) {
    const std::string what = std::to_string(ranks) + " ranks";
    const std::vector<Outcome> wanted = run(ranks, false);
    const int before = emulated::graphsLaunched();
    expectSame(run(ranks, true), wanted, what);
    expect(emulated::graphsLaunched() - before == ranks * (steps - 1), what + " did not replay what they exchange");
    Options options;
    options.refusesGraphs = ranks - 1;
    const int later = emulated::graphsLaunched();
    expectSame(run(ranks, true, options), wanted, what + ", one without graphs");
    expect(emulated::graphsLaunched() == later, what + " replayed what one of them cannot");
  }
}

// While a variable is set.
template <class Body>
void with(const char* name, const std::string& value, const Body& body) {
  const char* told = std::getenv(name);
  const std::string before = told == nullptr ? "" : told;
  setenv(name, value.c_str(), 1);
  body();
  if (told == nullptr)
    unsetenv(name);
  else
    setenv(name, before.c_str(), 1);
}

void expectRefusal(const std::vector<Outcome>& found, const std::string& sentence, const std::string& what) {
  for (const Outcome& outcome : found)
    expect(outcome.sentence.find(sentence) != std::string::npos, what + " gave: " + outcome.sentence);
}

void throughTheHostToo() {
  with("TILEFOLD_NCCL_PATH", "none", [] {
    const int before = emulated::graphsLaunched();
    for (int ranks = 1; ranks <= mostRanks; ++ranks) expectSame(run(ranks, true), run(ranks, false), "through the host");
    expect(emulated::graphsLaunched() == before, "what goes through the host was replayed");
    with("TILEFOLD_EMULATED_ONE_GPU", "1", [] { expectSame(run(2, true), run(2, false), "through the host, on one GPU"); });
  });
}

void eachCallThatFailsIsNamed() {
  Options options;
  options.mostMilliseconds = 300;
  for (const char* call : {"ncclCommInitRankConfig", "ncclGroupStart", "ncclGroupEnd", "ncclSend", "ncclRecv", "ncclCommGetAsyncError"})
    with("TILEFOLD_EMULATED_NCCL", std::string(call) + "=3@1", [&] {
      const std::vector<Outcome> found = run(3, true, options);
      const std::string sentence = "rank 1: NCCL: " + std::string(call) + " failed (result 3 of the emulated NCCL, as a test has it)";
      expect(found[1].sentence == sentence, std::string(call) + " gave: " + found[1].sentence);
      for (const std::size_t other : {0, 2})
        expect(found[other].sentence.find("has not ended in 1 second: another rank hangs") != std::string::npos ||
                   found[other].sentence.find("rank 1") == 0,
               std::string(call) + " gave another rank: " + found[other].sentence);
    });
  with("TILEFOLD_EMULATED_NCCL", "ncclGetUniqueId=2@0", [&] {
    expectRefusal(run(2, true, options), "rank 0: NCCL: ncclGetUniqueId failed (result 2", "a missing id");
  });
  with("TILEFOLD_EMULATED_NCCL", "state=6@0", [&] {
    const std::string sentence = run(2, true, options)[0].sentence;
    expect(sentence.find("rank 0: NCCL: ") == 0 && sentence.find("failed (result 6") != std::string::npos,
           "a remote error gave: " + sentence);
  });
  for (const char* call : {"ncclCommFinalize", "ncclCommDestroy"})
    with("TILEFOLD_EMULATED_NCCL", std::string(call) + "=3@1",
         [&] { expectSame(run(2, true), run(2, false), std::string("a communicator that ends badly in ") + call); });
  with("TILEFOLD_EMULATED_NCCL", "ncclCommAbort=3@0", [&] {
    Options late = options;
    late.missing = 1;
    expect(run(2, true, late)[0].sentence.find("rank 1 hangs") == 0, "what ends exchanges badly hides why");
  });
}

void whoWaitsForTooLongEnds() {
  Options options;
  options.mostMilliseconds = 100;
  options.missing = 1;
  const std::vector<Outcome> found = run(2, true, options);
  expect(found[0].sentence.find("rank 1 hangs") == 0, "a missing rank gave: " + found[0].sentence);
  options = {};
  options.missing = 1;
  options.ends = std::chrono::milliseconds(50);
  expect(!run(2, true, options)[0].isWhole, "a run that was to end was whole");
  // The same where ranks already connect, of which one fails.
  with("TILEFOLD_EMULATED_NCCL", "ncclCommInitRankConfig=3@1", [] {
    Options connecting;
    connecting.ends = std::chrono::milliseconds(1000);
    const Outcome found = run(2, true, connecting)[0];
    expect(!found.isWhole && found.sentence.empty(), "a run that was to end while ranks connect gave: " + found.sentence);
  });
  // Where the others are in the midst of a step.
  options = {};
  options.mostMilliseconds = 1000;
  options.leaving = 1;
  for (const bool hasPages : {false, true}) {
    options.hasPages = hasPages;
    const std::string sentence = run(mostRanks, true, options)[0].sentence;
    expect(sentence.find("rank 0: NCCL: an exchange has not ended in 1 second: another rank hangs") == 0,
           "a rank that left gave: " + sentence);
  }
  options = {};
  options.hasPages = true;
  expectSame(run(mostRanks, true, options), run(mostRanks, false, options), "with pages");
}

void librariesAreRefused(const fs::path& folder) {
  const fs::path empty = fs::temp_directory_path() / ("tilefold-nccl-" + std::to_string(getpid()));
  fs::create_directories(empty);
  const auto refuses = [](const std::string& path, const std::string& sentence) {
    with("TILEFOLD_NCCL_PATH", path, [&] { expectRefusal(run(2, true), sentence, "TILEFOLD_NCCL_PATH=" + path); });
  };
  refuses(empty.string(), "rank 0: ranks on GPUs need NCCL (libnccl.so.2), which does not load from " + empty.string());
  const std::string missing = (empty / "missing").string();
  refuses(missing, "rank 0: ranks on GPUs need NCCL (libnccl.so.2), which does not load from " + missing + ":");
  refuses("nccl", "rank 0: TILEFOLD_NCCL_PATH is nccl, which is no absolute path");
  // A library without its functions.
  fs::create_symlink(folder / "libcublas.so.13", empty / "libnccl.so.2");
  refuses(empty.string(), "libnccl.so.2 has no function ncclGetVersion");
  fs::remove_all(empty);
  with("TILEFOLD_EMULATED_NCCL", "version=21304", [] { expectRefusal(run(2, true), "says that it is 2.13.4", "an old library"); });
  with("TILEFOLD_EMULATED_ONE_GPU", "1", [] {
    expectRefusal(run(3, true), "rank 0 and rank 1 have the same GPU (emulated CUDA on the processor): start at most one rank", "one GPU");
  });
}

}  // namespace
}  // namespace tilefold::test

int main() {
  using namespace tilefold::test;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "emulated_cuda";
  setenv("TILEFOLD_NCCL_PATH", folder.c_str(), 1);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    tilefold::emulated::shuffle(seed);
    ranksExchangeTheSameBits();
  }
  throughTheHostToo();
  eachCallThatFailsIsNamed();
  whoWaitsForTooLongEnds();
  librariesAreRefused(folder);
  std::printf("cuda ranks: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
