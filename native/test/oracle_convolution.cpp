// The convolutions of the reference device, optimised and without sanitizers, which tilefold_test
// has them with: most of the time went here. A linker takes these instances before a library's.
#include "../src/reference/convolution.cpp"
