# inside.sh ON|OFF: the addon, with CUDA or without. Runs in the root of Debian 11: build.sh hands it over.
set -euo pipefail
cd /build
cuda=$1 made=addon-build
if [ "$cuda" = ON ]; then
  made=addon-build-cuda
  export PATH=/build/cuda/bin:$PATH TILEFOLD_CUDA_GROUPS=${TILEFOLD_CUDA_GROUPS:-6}
fi
# The standard libraries are within, so that a system's older ones do not matter, and none of their names are seen outside; libgomp,
# which cannot be put into a shared library, lies beside the addon.
cmake -S native -B $made "-DCMAKE_JS_INC=/build/headers/node-api-headers/include;/build/headers/node-addon-api" \
  -DTILEFOLD_MARCH_NATIVE=OFF "-DTILEFOLD_CUDA=$cuda" -DDNNL_INCLUDE_DIR=/build/onednn-root/include \
  -DDNNL_LIBRARY=/build/onednn-root/lib/libdnnl.a \
  -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN' \
  "-DCMAKE_SHARED_LINKER_FLAGS=-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-s"
make -C $made --silent -j"$(nproc)" tilefold
mkdir -p addon
cp $made/tilefold.node $made/CMakeCache.txt addon/
cp -L /usr/lib/x86_64-linux-gnu/libgomp.so.1 addon/
