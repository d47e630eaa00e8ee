#!/usr/bin/env bash
# Build small static libraries for packages that carry all they need: HDF5's C library and libtiff,
# both with zlib alone, of the sources that Debian or Ubuntu keeps for its own packages, whose 50
# libraries they do without. Nothing that Lobule reads is lost. With a toolchain file, all that Lobule
# links on the system that it is for.
# usage: libraries.sh FOLDER [TOOLCHAIN_FILE [CMAKE_OPTION...]]   (afterwards FOLDER/lib, FOLDER/include
# and FOLDER/licences; what is there is kept)
#
#   LOBULE_SOURCE_RELEASE=NAME   release whose sources are taken (default: this machine's); libtiff has
#                                to be 4.5 or later
set -euo pipefail
prefix=$(realpath -m "$1")
toolchain=()
system=
if [ $# -gt 1 ]; then
    toolchain=(-DCMAKE_TOOLCHAIN_FILE="$(realpath "$2")" -DLOBULE_STATIC_LIBRARIES="$prefix" "${@:3}")
    system=$(basename "$2" .cmake)
fi
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

# fetch NAME [PART...]: unpack a package's sources, or these parts, into $work/source. The machine's own
# list of sources is taken, with deb-src in place of deb; nothing outside of FOLDER changes.
fetch() {
    work=$prefix/work
    rm -rf "$work"
    mkdir -p "$work/lists/partial" "$work/source" "$work/parts"
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
    tar -xf "$(find "$work/source" -name "$1_*.orig.tar.*" ! -name '*.asc')" -C "$work/source" --strip-components=1 \
        --wildcards --no-wildcards-match-slash "${@:2}"
    mkdir -p "$prefix/licences" "$prefix/include"
    # Of two licences the freer one, LICENSE; those of parts are in a folder.
    find "$work/source" -maxdepth 2 -type f \( -path "$work/source/LICENSE*" -o -path "$work/source/COPYING*" \) \
        -not -path '*/LICENSES/SNAPPY*' | sort -r >"$work/licences"
    grep -q /LICENSES/ "$work/licences" || sed -i 1q "$work/licences"
    xargs -r -d '\n' cat <"$work/licences" >"$prefix/licences/$1.txt"
}

# make_static CMAKE_OPTION...: configure, build and install what was fetched, in the folder where
# HDF5's checks leave files.
make_static() {
    rm -rf "$work/build"
    mkdir "$work/build"
    cd "$work/build"
    {
        CFLAGS="-ffunction-sections -fdata-sections -w -Wno-error=implicit-int" cmake -G Ninja "$work/source" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
            -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "${toolchain[@]}" "$@" &&
            cmake --build . --parallel "${LOBULE_JOBS:-$(nproc)}" --target install
    } >"$work/log" 2>&1 || {
        tail -n 30 "$work/log" >&2
        exit 1
    }
    cd "$prefix"
}

# archive NAME FILE...: a library of these files of what was fetched, whose own build knows few systems.
# Headers are looked for in its folders $includes too.
archive() {
    local name=$1
    shift
    cat >"$work/source/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.22)
project($name C)
add_library($name STATIC $*)
target_compile_definitions($name PRIVATE HAVE_ZLIB HAVE_ZSTD HAVE_LZ4 ZSTD_DISABLE_ASM)
if(UNIX)
    target_compile_definitions($name PRIVATE HAVE_UNISTD_H fdopen=fdopen) # or zlib thinks that a Mac has none
endif()
target_include_directories($name PRIVATE $prefix/include . ${includes:-})
install(TARGETS $name)
TEXT
    make_static
}

if [ -n "$system" ]; then
    [ -f "$prefix/lib/libz.a" ] || {
        fetch zlib
        archive z adler32.c compress.c crc32.c deflate.c gzclose.c gzlib.c gzread.c gzwrite.c infback.c inffast.c \
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
        make_static -DENABLE_CJSON_TEST=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF -DENABLE_PUBLIC_SYMBOLS=OFF -DENABLE_HIDDEN_SYMBOLS=ON
    }
    [ -f "$prefix/lib/libdeflate.a" ] || {
        fetch libdeflate
        archive deflate lib/{utils,{deflate,gzip,zlib}_{compress,decompress},adler32,crc32,{arm,x86}/cpu_features}.c
        cp "$work/source/libdeflate.h" "$prefix/include"
    }
    [ -f "$prefix/lib/libzstd.a" ] || {
        fetch libzstd
        # shellcheck disable=SC2046  # names without spaces
        archive zstd $(cd "$work/source" && echo lib/{common,compress,decompress}/*.c)
        cp "$work/source/lib/zstd.h" "$prefix/include"
    }
    [ -f "$prefix/lib/libblosc.a" ] || {
        fetch lz4
        cp "$work/source/lib/LICENSE" "$prefix/licences/lz4.txt"
        rm -rf "$prefix/lz4"
        mv "$work/source/lib" "$prefix/lz4"
        fetch c-blosc
        mv "$prefix/lz4" "$work/source/lz4"
        # Of threads it takes MinGW-w64's, which the program has anyway: its own have the same names.
        sed -i 's/"win32\/pthread.[hc]"/<pthread.h>/' "$work/source/blosc/blosc.c"
        includes=lz4 archive blosc blosc/{blosc,blosclz,fastcopy,shuffle,shuffle-generic,bitshuffle-generic}.c lz4/lz4{,hc}.c
        cp "$work/source/blosc/blosc.h" "$work/source/blosc/blosc-export.h" "$prefix/include"
    }
    [ -f "$prefix/lib/libnifti2.a" ] || {
        fetch nifticlib
        includes=znzlib archive znz znzlib/znzlib.c
        includes=znzlib archive nifti2 nifti2/nifti2_io.c
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
[ -f "$prefix/lib/libomp.a" ] || [ "$system" != macos ] || {
    # Of LLVM the part that zig leaves out. It may be in a process with others of its kind.
    fetch llvm-toolchain-19 "*/openmp" "*/cmake" "*/LICENSE.TXT"
    sed -i 's/__kmp_duplicate_library_ok = 0/__kmp_duplicate_library_ok = 1/' "$work/source/openmp/runtime/src/kmp_global.cpp"
    mv "$work/source" "$work/outer"
    mv "$work/outer/openmp" "$work/source"
    mv "$work/outer/cmake" "$work/cmake"
    sed -i '/include(OpenMPTesting)/d; /^add_subdirectory(test)/d; /construct_check_openmp_target()/d' \
        "$work/source/CMakeLists.txt" "$work/source/runtime/CMakeLists.txt"
    mkdir "$work/source/runtime/src/sys" # of a header that zig lacks
    echo '#define SYS_thread_selfid 372' >"$work/source/runtime/src/sys/syscall.h"
    make_static -DOPENMP_STANDALONE_BUILD=ON -DLIBOMP_ENABLE_SHARED=OFF -DOPENMP_ENABLE_LIBOMPTARGET=OFF \
        -DOPENMP_ENABLE_OMPT_TOOLS=OFF -DLIBOMP_OMPT_SUPPORT=OFF -DLIBOMP_INSTALL_ALIASES=OFF
}
[ -f "$prefix/lib/libhdf5.a" ] || {
    fetch hdf5
    of_hdf5=(-DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF
        -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF
        -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_THREADSAFE=OFF)
    case $system in
    windows)
        # Its build runs programs that it has made, which look at how numbers lie in memory there.
        export WINEPREFIX=$work/wine WINEDEBUG=-all WINEDLLOVERRIDES='winemenubuilder.exe=d;mscoree=;mshtml='
        toolchain+=(-DCMAKE_CROSSCOMPILING_EMULATOR="$(command -v wine || command -v wine64)")
        mkdir -p "$work/source/src/sys"
        touch "$work/source/src/sys/wait.h" # which it includes for MinGW too, and uses nothing of
        ;;
    macos)
        # None of which runs here: in their place those that this machine's compiler makes of the same source,
        # with the same numbers. Of the checks that would run, the answers of every processor since 2006.
        cat >"$work/run_here" <<'TEXT'
#!/bin/sh
name=$(basename "$1")
shift
printf '17;0;' >"$LOBULE_HDF5/../../build/pac_Cconftest.out" # digits, for Fortran alone
[ -f "$LOBULE_HDF5/$name.c" ] && cc $LOBULE_NUMBERS -w -I. -I"$LOBULE_HDF5" "$LOBULE_HDF5/$name.c" -o "$name" && "./$name" "$@"
TEXT
        chmod +x "$work/run_here"
        export LOBULE_HDF5=$work/source/src LOBULE_NUMBERS=
        case $* in *=arm64*) LOBULE_NUMBERS=-mlong-double-64 ;; esac
        of_hdf5+=(-DCMAKE_CROSSCOMPILING_EMULATOR="$work/run_here" -DH5_PRINTF_LL_WIDTH='"ll"' -DH5_LDOUBLE_TO_LONG_SPECIAL=
            -DH5_LONG_TO_LDOUBLE_SPECIAL= -DH5_LDOUBLE_TO_LLONG_ACCURATE=1 -DH5_LLONG_TO_LDOUBLE_CORRECT=1
            -DH5_DISABLE_SOME_LDOUBLE_CONV= -DH5_NO_ALIGNMENT_RESTRICTIONS=1)
        ;;
    esac
    make_static "${of_hdf5[@]}"
}
rm -rf "$prefix/work"
