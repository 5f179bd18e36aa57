dnl SPDX-License-Identifier: MIT
dnl H2D_LIBRARIES: zlib (checksums), json-c (traces and reports), ZeroMQ (workers) and check (tests). H2D_HIP: hipcc, where asked for.

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
