// The convolutions of the reference device, optimised and without sanitizers, which tilefold_test
// has them with: most of the time went here. A linker prefers these instances to those of a library.
#include "../src/reference/convolution.cpp"
