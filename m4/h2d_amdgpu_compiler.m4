dnl SPDX-License-Identifier: MIT
dnl H2D_AMDGPU_COMPILER: finds a clang that compiles OpenCL C for AMD GPUs together with its lld,
dnl and which of our targets it knows.
dnl Sets AMDGPU_CLANG, AMDGPU_CLFLAGS, AMDGPU_TARGETS, AMDGPU_TEST_CLANGS, LLVM_MC.

AC_DEFUN([H2D_AMDGPU_TRY], [
	AS_IF([printf '%s\n' 'kernel void probe(global int *p) { *p = 1; }' > conftest.cl &&
		$1 -x cl $AMDGPU_CLFLAGS -mcpu=$2 conftest.cl -o conftest.hsaco >&AS_MESSAGE_LOG_FD 2>&1],
		[$3], [$4])
	rm -f conftest.cl conftest.hsaco
])

AC_DEFUN([H2D_AMDGPU_COMPILER], [
	AC_ARG_VAR([AMDGPU_CLANG], [clang with the AMDGPU target, used for the kernels])
	AMDGPU_CLFLAGS="-cl-std=CL2.0 --target=amdgcn-amd-amdhsa -nogpulib -O2 -mcode-object-version=4"
	h2d_clang_candidates="/opt/rocm/llvm/bin/clang clang-22 clang-19 clang"
	AS_CASE([$with_rocm], [search], [],
		[h2d_clang_candidates="$with_rocm/llvm/bin/clang $h2d_clang_candidates"])

	AC_MSG_CHECKING([for a clang that compiles for AMD GPUs])
	AS_IF([test "x$AMDGPU_CLANG" != x], [h2d_clang_candidates=$AMDGPU_CLANG])
	AMDGPU_CLANG= AMDGPU_TEST_CLANGS=
	for h2d_candidate in $h2d_clang_candidates clang-14; do
		h2d_path=`command -v "$h2d_candidate" 2>/dev/null` || continue
		h2d_real=`readlink -f "$h2d_path"`
		case " $h2d_seen_clangs " in *" $h2d_real "*) continue;; esac
		h2d_seen_clangs="$h2d_seen_clangs $h2d_real"
		H2D_AMDGPU_TRY([$h2d_path], [gfx90a], [
			AS_IF([test "x$AMDGPU_CLANG" = x], [AMDGPU_CLANG=$h2d_path])
			AMDGPU_TEST_CLANGS="$AMDGPU_TEST_CLANGS $h2d_path"
		])
	done
	AMDGPU_TEST_CLANGS=`echo $AMDGPU_TEST_CLANGS`
	AS_IF([test "x$AMDGPU_CLANG" = x], [
		AC_MSG_RESULT([none])
		AC_MSG_ERROR([no clang (of: $h2d_clang_candidates) compiles and links an OpenCL kernel for gfx90a; see config.log
(Debian packages: clang-19 and lld-19, of the same version; or AMDGPU_CLANG=PATH)])
	])
	h2d_amdgpu_clang_version=`$AMDGPU_CLANG --version | $SED -n 's/.*version \([[0-9][0-9.]]*\).*/\1/p;1q'`
	AC_MSG_RESULT([$AMDGPU_CLANG])

	AC_MSG_CHECKING([which AMD GPUs it knows])
	AMDGPU_TARGETS= h2d_amdgpu_unknown_targets=
	for h2d_target in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
		H2D_AMDGPU_TRY([$AMDGPU_CLANG], [$h2d_target],
			[AMDGPU_TARGETS="$AMDGPU_TARGETS $h2d_target"],
			[h2d_amdgpu_unknown_targets="$h2d_amdgpu_unknown_targets $h2d_target"])
	done
	AMDGPU_TARGETS=`echo $AMDGPU_TARGETS`
	h2d_amdgpu_unknown_targets=`echo $h2d_amdgpu_unknown_targets`
	AC_MSG_RESULT([$AMDGPU_TARGETS])

	AC_PATH_PROGS([LLVM_MC], [llvm-mc-22 llvm-mc-19 llvm-mc llvm-mc-14 /opt/rocm/llvm/bin/llvm-mc], [])
	AC_SUBST([AMDGPU_CLFLAGS])
	AC_SUBST([AMDGPU_TARGETS])
	AC_SUBST([AMDGPU_TEST_CLANGS])
])
