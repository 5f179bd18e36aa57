dnl SPDX-License-Identifier: MIT
dnl H2D_HSA_RUNTIME: finds hsa/hsa.h and libhsa-runtime64, in --with-rocm=DIR, else in
dnl /opt/rocm, else where the compiler looks (Debian's packages).
dnl Sets HSA_CPPFLAGS, HSA_LIBS, h2d_hsa_description.

AC_DEFUN([H2D_HSA_RUNTIME], [
	AC_ARG_WITH([rocm],
		[AS_HELP_STRING([--with-rocm=DIR],
			[where ROCm is installed (default: /opt/rocm if it has the HSA runtime, else the system's)])],
		[], [with_rocm=search])

	HSA_CPPFLAGS= HSA_LDFLAGS=
	AS_CASE([$with_rocm],
		[no|yes], [AC_MSG_ERROR([--with-rocm takes a directory])],
		[search], [h2d_rocm_dir=/opt/rocm],
		[AS_IF([test ! -f "$with_rocm/include/hsa/hsa.h"],
			[AC_MSG_ERROR([--with-rocm=$with_rocm: no include/hsa/hsa.h there])])
		 h2d_rocm_dir=$with_rocm])
	AS_IF([test -f "$h2d_rocm_dir/include/hsa/hsa.h"], [
		HSA_CPPFLAGS="-isystem $h2d_rocm_dir/include"
		HSA_LDFLAGS="-L$h2d_rocm_dir/lib"
		h2d_hsa_description="$h2d_rocm_dir"
	], [h2d_hsa_description="the system's"])

	h2d_saved_CPPFLAGS=$CPPFLAGS h2d_saved_LDFLAGS=$LDFLAGS h2d_saved_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $HSA_CPPFLAGS"
	LDFLAGS="$LDFLAGS $HSA_LDFLAGS"
	AC_CHECK_HEADERS([hsa/hsa.h hsa/hsa_ext_amd.h], [],
		[AC_MSG_ERROR([hsa/hsa.h not found (Debian package: libhsa-runtime-dev; or --with-rocm=DIR)])],
		[[#include <hsa/hsa.h>]])
	AC_CHECK_LIB([hsa-runtime64], [hsa_init], [],
		[AC_MSG_ERROR([libhsa-runtime64 not found (Debian package: libhsa-runtime-dev; or --with-rocm=DIR)])])
	CPPFLAGS=$h2d_saved_CPPFLAGS LDFLAGS=$h2d_saved_LDFLAGS LIBS=$h2d_saved_LIBS
	HSA_LIBS="$HSA_LDFLAGS -lhsa-runtime64"
	# The header of the tools interface includes its neighbours without their folder.
	HSA_API_TRACE_CPPFLAGS=
	for h2d_dir in "$h2d_rocm_dir/include/hsa" /usr/include/hsa; do
		AS_IF([test -f "$h2d_dir/hsa_api_trace.h"],
			[HSA_API_TRACE_CPPFLAGS="-isystem $h2d_dir"; break])
	done
	AC_SUBST([HSA_API_TRACE_CPPFLAGS])
	AC_SUBST([HSA_CPPFLAGS])
	AC_SUBST([HSA_LIBS])

	AS_IF([test "x$enable_softgpu" = xyes], [
		h2d_saved_CPPFLAGS=$CPPFLAGS
		CPPFLAGS="$CPPFLAGS $HSA_CPPFLAGS"
		h2d_thunk_header=
		AC_CHECK_HEADERS([hsakmt/hsakmt.h hsakmt.h], [h2d_thunk_header=$ac_header; break])
		CPPFLAGS=$h2d_saved_CPPFLAGS
		AS_IF([test "x$h2d_thunk_header" = x], [AC_MSG_ERROR(
			[hsakmt.h not found; the software GPU implements it (Debian package: libhsakmt-dev; or --disable-softgpu)])])
	])
])
