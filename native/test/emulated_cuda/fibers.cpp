#include "fibers.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#error "the emulated CUDA switches fibers on x86-64 alone: configure with -DTILEFOLD_CUDA_EMULATED=OFF"
#endif

// Pushes what a call must keep, leaves the stack pointer in *from, and returns on the other stack.
extern "C" void tilefold_emulated_switch(void** from, void* to);
asm(R"(
.text
.p2align 4
.globl tilefold_emulated_switch
.type tilefold_emulated_switch, @function
tilefold_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tilefold_emulated_switch, .-tilefold_emulated_switch
)");

namespace tilefold::emulated {
namespace {

constexpr std::size_t guardBytes = 4096, stackBytes = std::size_t{128} << 10;
constexpr std::size_t savedRegisters = 6;

Fiber* current = nullptr;
Stopped resumer;
Stopped* left = nullptr;  // the stack that was switched away from last

void switchStacks(Stopped& from, const Stopped& to) {
  left = &from;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&from.fakeStack, to.bottom, to.bytes);
#endif
  tilefold_emulated_switch(&from.stackPointer, to.stackPointer);
}

// On the stack that `here` stopped on.
void arrived([[maybe_unused]] const Stopped& here) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(here.fakeStack, &left->bottom, &left->bytes);
#endif
}

}  // namespace

Fiber::Fiber(void (*body)()) : body_(body) {
  void* memory = mmap(nullptr, guardBytes + stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  mprotect(memory_, guardBytes, PROT_NONE);
  own_.bottom = memory_ + guardBytes;
  own_.bytes = stackBytes;
  // As if `enter` had been called from nowhere and switched away: the registers, where to go on,
  // and what keeps the stack aligned.
  void** top = reinterpret_cast<void**>(memory_ + guardBytes + stackBytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::enter);
  own_.stackPointer = top - savedRegisters;
}

Fiber::~Fiber() { munmap(memory_, guardBytes + stackBytes); }

Fiber* Fiber::running() { return current; }

void Fiber::enter() {
  arrived(current->own_);
  current->body_();
  std::abort();
}

void Fiber::resume() {
  current = this;
  switchStacks(resumer, own_);
  arrived(resumer);
  current = nullptr;
}

void Fiber::stop() {
  Fiber& self = *current;
  switchStacks(self.own_, resumer);
  arrived(self.own_);
}

void Fiber::passTo(Fiber& other) {
  Fiber& self = *current;
  current = &other;
  switchStacks(self.own_, other.own_);
  arrived(self.own_);
}

}  // namespace tilefold::emulated
