# Runs in the root of Debian 11: build.sh hands it over.
set -euo pipefail
cd /build
case $1 in
  onednn)
    cmake -S onednn/source -B onednn-build -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" \
      -DCMAKE_INSTALL_PREFIX=/build/onednn-root -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
      -DONEDNN_LIBRARY_TYPE=STATIC -DONEDNN_CPU_RUNTIME=OMP -DONEDNN_ENABLE_WORKLOAD=TRAINING -DONEDNN_ENABLE_PRIMITIVE=CONVOLUTION \
      -DONEDNN_ENABLE_PRIMITIVE_CPU_ISA=AVX512 -DONEDNN_ENABLE_GEMM_KERNELS_ISA=NONE -DONEDNN_BUILD_GRAPH=OFF -DONEDNN_BUILD_TESTS=OFF \
      -DONEDNN_BUILD_EXAMPLES=OFF -DONEDNN_BUILD_DOC=OFF -DONEDNN_ENABLE_JIT_PROFILING=OFF -DONEDNN_ENABLE_ITT_TASKS=OFF \
      -DONEDNN_VERBOSE=OFF -DONEDNN_ARCH_OPT_FLAGS=
    make -C onednn-build --silent -j"$(nproc)" install
    ;;
  addon)
    # The standard libraries are within, so that a system's older ones do not matter, and none of their names are seen outside; libgomp,
    # which cannot be put into a shared library, lies beside the addon.
    cmake -S native -B addon-build "-DCMAKE_JS_INC=/build/headers/node-api-headers/include;/build/headers/node-addon-api" \
      -DTILEFOLD_MARCH_NATIVE=OFF -DTILEFOLD_CUDA=OFF -DDNNL_INCLUDE_DIR=/build/onednn-root/include \
      -DDNNL_LIBRARY=/build/onednn-root/lib/libdnnl.a \
      -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN' \
      "-DCMAKE_SHARED_LINKER_FLAGS=-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-s"
    make -C addon-build --silent -j"$(nproc)" tilefold
    mkdir -p addon
    cp addon-build/tilefold.node addon/
    cp -L /usr/lib/x86_64-linux-gnu/libgomp.so.1 addon/
    ;;
esac
