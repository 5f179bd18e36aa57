dnl SPDX-License-Identifier: MIT
dnl H2D_LIBRARIES: zlib (checksums), json-c (traces and reports), ZeroMQ (workers) and check (tests). H2D_HIP, H2D_HIP_PEERS, H2D_CUDA: where asked for or found.

AC_DEFUN([H2D_LIBRARIES], [
	PKG_CHECK_MODULES([ZLIB], [zlib >= 1.2.9], [],
		[AC_MSG_ERROR([zlib not found (Debian package: zlib1g-dev)])])
	PKG_CHECK_MODULES([JSON_C], [json-c >= 0.14], [],
		[AC_MSG_ERROR([json-c not found (Debian package: libjson-c-dev)])])
	PKG_CHECK_MODULES([ZMQ], [libzmq >= 4.3], [],
		[AC_MSG_ERROR([ZeroMQ not found (Debian package: libzmq3-dev)])])
	PKG_CHECK_MODULES([CHECK], [check >= 0.15], [],
		[AC_MSG_ERROR([check 0.15 or newer not found (Debian package: check)])])
])

AC_DEFUN([H2D_HIP], [
	AC_ARG_VAR([HIPCC], [hipcc, used by the HIP tests])
	AS_IF([test "x$enable_hip_tests" = xyes], [
		AC_PATH_PROG([HIPCC], [hipcc], [none], [/opt/rocm/bin:$PATH])
		AS_IF([test "x$HIPCC" = xnone],
			[AC_MSG_ERROR([--enable-hip-tests: hipcc not found (Debian packages: hipcc libamdhip64-dev)])])
	])
])

dnl H2D_HIP_PEERS: HIP as a peer of h2dpub-bench, where --with-hip asks for it; what HIP and the HSA
dnl runtime have for batches of copies is found out. Sets HIP_CFLAGS and HIP_LIBS.
AC_DEFUN([H2D_HIP_PEERS], [
	AC_ARG_WITH([hip],
		[AS_HELP_STRING([--with-hip], [let h2dpub-bench measure HIP too (needs libamdhip64-dev)])],
		[], [with_hip=no])
	HIP_CFLAGS= HIP_LIBS=
	h2d_saved_CPPFLAGS=$CPPFLAGS h2d_saved_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $HSA_CPPFLAGS"
	AC_CHECK_DECL([hsa_amd_memory_async_batch_copy],
		[AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>]], [[
			hsa_agent_t agent = {0};
			hsa_signal_t signal = {0};
			hsa_amd_memory_copy_op_t operation = {.version = 1, .num_entries = 1,
				.completion_signal = signal, .src = 0, .src_agent = agent,
				.dst_agent = agent, .dst = 0, .size = 4};
			return hsa_amd_memory_async_batch_copy(&operation, 1, 1, &signal);]])],
			[AC_DEFINE([HAVE_HSA_BATCH_COPY], [1],
				[Define if the HSA runtime copies in batches.])])],
		[], [[#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>]])
	AS_IF([test "x$with_hip" != xno], [
		HIP_CFLAGS="-D__HIP_PLATFORM_AMD__ -D__HIP_PLATFORM_HCC__ $HSA_CPPFLAGS"
		CPPFLAGS="$CPPFLAGS $HIP_CFLAGS"
		LIBS="$LIBS $HSA_LDFLAGS"
		AC_CHECK_HEADER([hip/hip_runtime_api.h], [],
			[AC_MSG_ERROR([--with-hip: hip/hip_runtime_api.h not found (Debian package: libamdhip64-dev)])])
		AC_CHECK_LIB([amdhip64], [hipMemcpyAsync], [],
			[AC_MSG_ERROR([--with-hip: libamdhip64 not found (Debian package: libamdhip64-dev)])])
		HIP_LIBS="$HSA_LDFLAGS -lamdhip64"
		AC_DEFINE([HAVE_HIP], [1], [Define to let h2dpub-bench measure HIP.])
		AC_CHECK_DECL([hipMemcpyBatchAsync],
			[AC_DEFINE([HAVE_HIP_BATCH_COPY], [1], [Define if HIP copies in batches.])],
			[], [[#include <hip/hip_runtime_api.h>]])
	])
	CPPFLAGS=$h2d_saved_CPPFLAGS LIBS=$h2d_saved_LIBS
	AC_SUBST([HIP_CFLAGS])
	AC_SUBST([HIP_LIBS])
])

dnl H2D_CUDA: nvcc with its headers and a clang that compiles OpenCL C to PTX, for tests/cuda. Not
dnl looked for with --without-cuda. Sets NVCC, PTX_CLANG, PTX_CLFLAGS, CUDA_CPPFLAGS, CUDA_LIBS.
AC_DEFUN([H2D_CUDA], [
	AC_ARG_WITH([cuda],
		[AS_HELP_STRING([--with-cuda=DIR],
			[where CUDA is installed, to check and measure the kernels on NVIDIA GPUs (default: /usr/local/cuda if it is there)])],
		[], [with_cuda=/usr/local/cuda])
	AC_ARG_VAR([PTX_CLANG], [clang with the NVPTX target])
	AC_ARG_VAR([CUDA_ARCH], [the NVIDIA GPU that the kernels are compiled for (default: sm_90)])
	: ${CUDA_ARCH=sm_90}
	NVCC=$with_cuda/bin/nvcc
	PTX_CLFLAGS="-x cl -cl-std=CL2.0 --target=nvptx64-nvidia-cuda -march=$CUDA_ARCH -nogpulib -O2 -S"
	CUDA_CPPFLAGS="-isystem $with_cuda/include"
	CUDA_LIBS="-L$with_cuda/lib64 -L$with_cuda/lib64/stubs -L$with_cuda/lib -L$with_cuda/lib/stubs -lcudart_static -lcuda -lstdc++ -lpthread -ldl -lrt"
	h2d_cuda=no
	AC_MSG_CHECKING([for CUDA and a clang that compiles for it])
	AS_IF([test -x "$NVCC" && test -f "$with_cuda/include/cuda.h"], [
		dnl Newer clangs call a kernel's body as a function, which cannot see the kernel's arguments.
		for h2d_candidate in $PTX_CLANG clang-19 clang-18 clang; do
			AS_IF([$h2d_candidate $PTX_CLFLAGS -DARGUMENT_DESCRIPTORS=8 \
				-include $srcdir/tests/cuda/opencl_on_ptx.h $srcdir/kernels/pull.cl \
				-o conftest.ptx >&AS_MESSAGE_LOG_FD 2>&1 && ! grep callseq conftest.ptx >/dev/null],
				[PTX_CLANG=$h2d_candidate; h2d_cuda=$with_cuda; break])
		done
		rm -f conftest.ptx
	])
	AC_MSG_RESULT([$h2d_cuda])
	AM_CONDITIONAL([CUDA], [test "x$h2d_cuda" != xno])
	AC_SUBST([NVCC])
	AC_SUBST([PTX_CLFLAGS])
	AC_SUBST([CUDA_CPPFLAGS])
	AC_SUBST([CUDA_LIBS])
])
