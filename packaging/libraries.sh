#!/usr/bin/env bash
# Build small static libraries for packages that carry all they need: HDF5's C library and libtiff,
# both with zlib alone, of the sources that Debian or Ubuntu keeps for its own packages, whose 50
# libraries they do without. Nothing that Lobule reads is lost. For Windows all that Lobule links there.
# usage: libraries.sh [--windows] FOLDER   (afterwards FOLDER/lib, FOLDER/include and FOLDER/licences; what
# is there is kept)
#
#   LOBULE_SOURCE_RELEASE=NAME   release whose sources are taken (default: this machine's); libtiff has
#                                to be 4.5 or later
set -euo pipefail
windows=
toolchain=()
if [ "$1" = --windows ]; then
    windows=yes
    shift
    toolchain=(-DCMAKE_TOOLCHAIN_FILE="$(realpath "$(dirname "${BASH_SOURCE[0]}")")/../cmake/windows.cmake"
        -DLOBULE_WINDOWS_LIBRARIES="$(realpath -m "$1")")
fi
prefix=$(realpath -m "$1")
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# fetch NAME: unpack a package's sources into $work/source. The machine's own list of sources
# is taken, with deb-src in place of deb; nothing outside of FOLDER changes.
fetch() {
    work=$prefix/work
    rm -rf "$work"
    mkdir -p "$work/lists/partial" "$work/source" "$work/build" "$work/parts"
    find /etc/apt/sources.list.d -name '*.sources' -exec cat {} + |
        sed -n 's/^Types: .*/Types: deb-src/p; /^\(URIs\|Suites\|Components\|Signed-By\):/p; /^$/p' |
        awk -v RS= -v r="$release" '$0 ~ "Suites:.*" r && $0 ~ "Components:.*main" { print $0 "\n" }' \
            >"$work/parts/all.sources"
    find /etc/apt -maxdepth 2 -name '*.list' -exec cat {} + |
        sed -n "s/^deb \(\[.*\] \)*\([^ ]*\) ${release} .*main.*/deb-src \1\2 ${release} main/p" >"$work/parts/all.list"
    find "$work/parts" -empty -delete
    sed -i "s/\b${release}\b/${LOBULE_SOURCE_RELEASE:-$release}/g" "$work"/parts/*
    local apt=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts" -o "Dir::State::lists=$work/lists"
        -o "Dir::Cache=$work" -o APT::Sandbox::User=)
    apt-get "${apt[@]}" update -qq
    # The newest that is to be had: a mirror may lack what its list already names.
    local version
    for version in $(apt-cache "${apt[@]}" showsrc "$1" | sed -n 's/^Version: //p' | sort -rVu); do
        if (cd "$work/source" && apt-get "${apt[@]}" source -qq --download-only "$1=$version"); then break; fi
    done
    tar -xf "$(find "$work/source" -name "$1_*.orig.tar.*" ! -name '*.asc')" -C "$work/source" --strip-components=1
    mkdir -p "$prefix/licences"
    # Of two licences the freer one, LICENSE; those of parts are in a folder.
    find "$work/source" -maxdepth 2 -type f \( -path "$work/source/LICENSE*" -o -path "$work/source/COPYING*" \) \
        -not -path '*/LICENSES/SNAPPY*' | sort -r >"$work/licences"
    grep -q /LICENSES/ "$work/licences" || sed -i 1q "$work/licences"
    xargs -r -d '\n' cat <"$work/licences" >"$prefix/licences/$1.txt"
}

# make_static CMAKE_OPTION...: configure, build and install what was fetched, in the folder where
# HDF5's checks leave files.
make_static() {
    cd "$work/build"
    {
        cmake -G Ninja "$work/source" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
            -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
            -DCMAKE_C_FLAGS="-ffunction-sections -fdata-sections -w" -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "${toolchain[@]}" "$@" &&
            cmake --build . --target install
    } >"$work/log" 2>&1 || {
        tail -n 30 "$work/log" >&2
        exit 1
    }
    cd "$prefix"
    rm -rf "$work"
}

# archive NAME FOLDER FILE...: compile files of what was fetched, whose own build knows no other systems.
archive() {
    local name=$1 folder=$2 file objects=()
    shift 2
    mkdir -p "$prefix/lib" "$prefix/include"
    for file in "$@"; do
        objects+=("$work/build/$name-$(basename "$file" .c).o")
        x86_64-w64-mingw32-gcc-posix -O2 -w -DHAVE_ZLIB -DHAVE_ZSTD -DHAVE_LZ4 -DZSTD_DISABLE_ASM \
            -Wa,-muse-unaligned-vector-move -I"$prefix/include" -I"$work/source/znzlib" -I"$work/source" -c "$work/source/$folder/$file" -o "${objects[-1]}"
    done
    x86_64-w64-mingw32-ar rcs "$prefix/lib/lib$name.a" "${objects[@]}"
}

if [ -n "$windows" ]; then
    [ -f "$prefix/lib/libz.a" ] || {
        fetch zlib
        archive z . adler32.c compress.c crc32.c deflate.c gzclose.c gzlib.c gzread.c gzwrite.c infback.c inffast.c \
            inflate.c inftrees.c trees.c uncompr.c zutil.c
        cp "$work/source/zlib.h" "$work/source/zconf.h" "$prefix/include"
    }
    [ -f "$prefix/lib/libpng16.a" ] || {
        fetch libpng1.6
        make_static -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF -DZLIB_ROOT="$prefix"
        rm -rf "$prefix/lib/libpng" "$prefix"/bin/*png*
    }
    [ -f "$prefix/lib/libexpat.a" ] || {
        fetch expat
        mv "$work/source" "$work/outer"
        mv "$work/outer/expat" "$work/source"
        make_static -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_EXAMPLES=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_SHARED_LIBS=OFF
    }
    [ -f "$prefix/lib/libcjson.a" ] || {
        fetch cjson
        make_static -DENABLE_CJSON_TEST=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF
    }
    [ -f "$prefix/lib/libdeflate.a" ] || {
        fetch libdeflate
        archive deflate lib utils.c deflate_compress.c deflate_decompress.c gzip_compress.c gzip_decompress.c \
            zlib_compress.c zlib_decompress.c adler32.c crc32.c x86/cpu_features.c
        cp "$work/source/libdeflate.h" "$prefix/include"
    }
    [ -f "$prefix/lib/libzstd.a" ] || {
        fetch libzstd
        # shellcheck disable=SC2046  # names without spaces
        archive zstd lib $(cd "$work/source/lib" && echo common/*.c compress/*.c decompress/*.c)
        cp "$work/source/lib/zstd.h" "$prefix/include"
    }
    [ -f "$prefix/lib/liblz4.a" ] || {
        fetch lz4
        archive lz4 lib lz4.c lz4hc.c
        cp "$work/source/lib/lz4.h" "$work/source/lib/lz4hc.h" "$prefix/include"
        cp "$work/source/lib/LICENSE" "$prefix/licences/lz4.txt"
    }
    [ -f "$prefix/lib/libblosc.a" ] || {
        fetch c-blosc
        # Of threads it takes MinGW-w64's, which the program has anyway: its own have the same names.
        sed -i 's/"win32\/pthread.[hc]"/<pthread.h>/' "$work/source/blosc/blosc.c"
        (cd "$work/build" && x86_64-w64-mingw32-ar x "$prefix/lib/liblz4.a")
        archive blosc blosc blosc.c blosclz.c fastcopy.c shuffle.c shuffle-generic.c bitshuffle-generic.c
        x86_64-w64-mingw32-ar rcs "$prefix/lib/libblosc.a" "$work"/build/lz4-*.o
        cp "$work/source/blosc/blosc.h" "$work/source/blosc/blosc-export.h" "$prefix/include"
    }
    [ -f "$prefix/lib/libnifti2.a" ] || {
        fetch nifticlib
        archive znz znzlib znzlib.c
        archive nifti2 nifti2 nifti2_io.c
        mkdir -p "$prefix/include/nifti"
        cp "$work"/source/nifti2/*.h "$work"/source/znzlib/*.h "$prefix/include/nifti"
    }
fi
[ -f "$prefix/lib/libtiff.a" ] || {
    fetch tiff
    sed -i 's/LANGUAGES C CXX/LANGUAGES C/' "$work/source/CMakeLists.txt"
    make_static -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Dcxx=OFF -Djpeg=OFF -Djbig=OFF \
        -Dlzma=OFF -Dzstd=OFF -Dwebp=OFF -Dlerc=OFF -Dlibdeflate=OFF
}
[ -f "$prefix/lib/libhdf5.a" ] || {
    fetch hdf5
    if [ -n "$windows" ]; then
        # Its build runs programs that it has made, which look at how numbers lie in memory there.
        export WINEPREFIX=$work/wine WINEDEBUG=-all WINEDLLOVERRIDES='winemenubuilder.exe=d;mscoree=;mshtml='
        toolchain+=(-DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v wine || command -v wine64)")
        mkdir -p "$work/source/src/sys"
        touch "$work/source/src/sys/wait.h" # which it includes for MinGW too, and uses nothing of
    fi
    make_static -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF \
        -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF \
        -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_THREADSAFE=OFF
}
