#!/usr/bin/env bash
# Finding contours on the CPU: OpenCV in C++, with its fastest path, and this library, on the same
# images in the same run.
#
#   benches/opencv_contours.sh build FOLDER OPENCV      builds both programs into FOLDER
#   benches/opencv_contours.sh images FOLDER [MASK...]  draws the images into it
#   benches/opencv_contours.sh run FOLDER               times them, and prints one table in Markdown
#
# OPENCV is the source of OpenCV 4.14 or later: a clone of its repository, or the folder `opencv`
# in the source distribution of `opencv-python-headless` on PyPI (`pip download --no-deps
# --no-binary opencv-python-headless opencv-python-headless==5.0.0.93`). `build` needs cmake, a
# C++ compiler and cargo, and 10 to 20 minutes of processor time. Both programs are linked so that
# FOLDER, without its `build`, can be copied to another x86-64 machine with Linux: `run` and
# `images` need nothing else.
#
# Images are those of `benches/opencv.py`, and the MASKs, if any. SIDES are their sides,
# "2048 8192" if not set. THREADS is the number of threads, all if not set.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)

usage() {
    sed -n '2,/^set/ { /^set/d; s/^# \{0,1\}//; p }' "$0" >&2
    exit 2
}

build() {
    local folder opencv cmake
    folder=$(realpath "$1")
    opencv=$(realpath "$2")
    cmake=${CMAKE:-cmake}
    # Only what finding contours needs; threads and instructions as OpenCV chooses them.
    "$cmake" -S "$opencv" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
        -DBUILD_LIST=core,imgproc -DBUILD_SHARED_LIBS=OFF -DCPU_BASELINE=SSE4_2 \
        -DBUILD_TESTS=OFF -DBUILD_PERF_TESTS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_opencv_apps=OFF \
        -DBUILD_opencv_python3=OFF -DBUILD_JAVA=OFF -DBUILD_ZLIB=ON \
        -DWITH_IPP=OFF -DWITH_ITT=OFF -DWITH_OPENCL=OFF -DWITH_EIGEN=OFF -DWITH_LAPACK=OFF \
        -DWITH_PROTOBUF=OFF -DWITH_QUIRC=OFF -DWITH_ADE=OFF -DWITH_FLATBUFFERS=OFF
    "$cmake" --build "$folder/build" --target opencv_imgproc -j "$(nproc)"

    local includes=(-I"$folder/build")
    for module in core imgproc geometry flann; do # OpenCV 5's imgproc needs geometry
        includes+=(-I"$opencv/modules/$module/include")
    done
    local libraries=()
    for library in opencv_imgproc opencv_geometry opencv_flann opencv_core zlib; do
        library=$(find "$folder/build" -name "lib$library.a")
        libraries+=(${library:+"$library"})
    done
    "${CXX:-c++}" -std=c++17 -O3 "${includes[@]}" "$root/benches/opencv_contours.cpp" \
        -o "$folder/opencv_contours" -static-libstdc++ -static-libgcc -s -Wl,--gc-sections \
        -Wl,--start-group "${libraries[@]}" -Wl,--end-group -pthread -ldl

    cd "$root"
    cargo build --profile dist --locked -p trazar-bench-support --bin contour_times
    cp "${CARGO_TARGET_DIR:-target}/dist/contour_times" "$folder/"
}

images() {
    local folder=$1 side pattern mask name
    shift
    mkdir -p "$folder/images"
    for side in ${SIDES:-2048 8192}; do
        for pattern in blobs noise:0.1 noise:0.5 noise:0.9 nested-rectangles; do
            "$folder/contour_times" draw "$pattern" "$side" \
                "$folder/images/${pattern/:/-}-$side.pbm"
        done
    done
    for mask in "$@"; do
        name=$(basename "$mask")
        "$folder/contour_times" pbm "$mask" "$folder/images/${name%.*}.pbm"
    done
}

run() {
    local folder=$1 threads image
    threads=${THREADS:-$(nproc)}
    echo "$(date -u '+%-d %B %Y'); $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)," \
        "$(nproc) processors; milliseconds."
    echo
    echo "| image | size | contours by | threads | fastest | median | contours | points" \
        "| checksum | against OpenCV's list with hierarchy |"
    echo "|---|---|---|---|---|---|---|---|---|---|"
    for image in "$folder"/images/*.pbm; do
        "$folder/opencv_contours" --threads "$threads" "$image"
        RAYON_NUM_THREADS=$threads "$folder/contour_times" trace "$image"
    done
}

case "${1:-} $#" in
"build 3") build "$2" "$3" ;;
"images "[2-9]*) images "${@:2}" ;;
"run 2") run "$2" ;;
*) usage ;;
esac
