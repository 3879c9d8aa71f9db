// MPI as it is found at run time. Each implementation has a binary interface of its own: what
// handles are, and the values of those that the standard names. No mpi.h is needed, and none of
// the libraries when this is built.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tilefold {

// Which libraries a launcher goes with: `openMpi`, mpirun and mpiexec of Open MPI and of PRRTE;
// `mpich`, those of MPICH and its kin (Intel MPI, Cray MPICH, MVAPICH), which share one interface.
// Either may bring, beside it or in its place, the one that MPI 5.0 has standardised: libmpi_abi.
enum class MpiKind { openMpi, mpich };

// The calls that a network of ranks needs, whatever handles are. Every one throws Failure with the
// library's own text where it fails. All are of one thread, the one that called `start`.
class MpiLibrary {
 public:
  virtual ~MpiLibrary() = default;
  virtual void start() = 0;
  virtual int rank() = 0;
  virtual int size() = 0;
  // Messages of at most 2^31 - 1 bytes; what is sent or received stays until done().
  virtual void send(const std::byte* bytes, std::size_t count, int to) = 0;
  virtual void receive(std::byte* bytes, std::size_t count, int from) = 0;
  // Whether everything that was sent and received since it last said so is there.
  virtual bool done() = 0;
  // The ranks, in order, from which something is still to come, or which have not taken all that
  // was sent; where there are none, `done` says so next.
  virtual std::vector<int> missing() = 0;
  virtual void finish() = 0;
  virtual void abort(int status) = 0;
};

// `path`: the library's file, or empty for the names that it has in the loader's path; one whose
// name begins with libmpi_abi has the standard's interface. Throws Failure, which says what was
// looked for. It stays loaded until the process ends.
std::unique_ptr<MpiLibrary> openMpiLibrary(MpiKind kind, const std::string& path);

}  // namespace tilefold
