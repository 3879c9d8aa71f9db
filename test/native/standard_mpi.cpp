// A library with the binary interface of MPI 5.0, of rank 0 of two: the other one sends what it is
// sent, but for messages of 13 bytes, which it leaves unanswered, and those of 17, which it does
// not take. Handles and constants that are not the standard's are errors.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

using Handle = void*;
Handle named(std::intptr_t value) { return reinterpret_cast<Handle>(value); }

constexpr int wrongHandle = 5;
constexpr int unanswered = 13, untaken = 17;
std::string sent;
void* awaited = nullptr;
bool answers = true, takes = true;

void answer() {
  if (awaited == nullptr || sent.empty() || !answers) return;
  std::memcpy(awaited, sent.data(), sent.size());
  awaited = nullptr;
  sent.clear();
}

bool arrived() {
  answer();
  return awaited == nullptr;
}

}  // namespace

extern "C" {

int MPI_Init(int*, char***) {
  sent.clear();
  awaited = nullptr;
  answers = takes = true;
  return 0;
}
int MPI_Finalize() { return 0; }
int MPI_Abort(Handle, int) { return 0; }
int MPI_Comm_set_errhandler(Handle communicator, Handle handler) {
  return communicator == named(0x101) && handler == named(0x143) ? 0 : wrongHandle;
}
int MPI_Error_string(int, char* text, int* length) {
  *length = std::sprintf(text, "a handle that is not the standard's");
  return 0;
}
int MPI_Comm_rank(Handle, int* rank) {
  *rank = 0;
  return 0;
}
int MPI_Comm_size(Handle, int* size) {
  *size = 2;
  return 0;
}
int MPI_Isend(const void* bytes, int count, Handle type, int, int, Handle communicator, Handle* request) {
  if (type != named(0x247) || communicator != named(0x101)) return wrongHandle;
  sent.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
  takes = count != untaken;
  answers = takes && count != unanswered;
  *request = named(0x1000);
  return 0;
}
int MPI_Irecv(void* bytes, int, Handle type, int, int, Handle communicator, Handle* request) {
  if (type != named(0x247) || communicator != named(0x101)) return wrongHandle;
  awaited = bytes;
  *request = named(0x2000);
  return 0;
}
int MPI_Test(Handle* request, int* done, void* status) {
  *done = (*request == named(0x1000) ? takes : arrived()) ? 1 : 0;
  return status == nullptr ? 0 : wrongHandle;
}
int MPI_Testall(int, Handle*, int* done, void* statuses) {
  *done = takes && arrived() ? 1 : 0;
  return statuses == nullptr ? 0 : wrongHandle;
}
}
