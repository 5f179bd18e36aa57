dnl SPDX-License-Identifier: MIT
dnl Compiler flags: warnings, sanitizers, the linker's version script.

AC_DEFUN([H2D_WARNINGS], [
	WARNING_CFLAGS="-std=c11 -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla"
	AS_IF([test "x$enable_werror" = xyes], [WARNING_CFLAGS="$WARNING_CFLAGS -Werror"])
	AC_SUBST([WARNING_CFLAGS])
])

AC_DEFUN([H2D_SANITIZERS], [
	SANITIZER_CFLAGS=
	AS_IF([test "x$enable_sanitizers$enable_tsan" = xyesyes],
		[AC_MSG_ERROR([--enable-sanitizers and --enable-tsan exclude each other])])
	AS_IF([test "x$enable_sanitizers" = xyes], [
		SANITIZER_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
	])
	AS_IF([test "x$enable_tsan" = xyes], [
		SANITIZER_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer"
		# gcc warns of fences, which ThreadSanitizer does not follow; clang knows no such warning.
		WARNING_CFLAGS="$WARNING_CFLAGS -Wno-tsan -Wno-unknown-warning-option"
	])
	AC_SUBST([SANITIZER_CFLAGS])
	AM_CONDITIONAL([SANITIZERS], [test "x$SANITIZER_CFLAGS" != x])
	AM_CONDITIONAL([TSAN], [test "x$enable_tsan" = xyes])
])

AC_DEFUN([H2D_VERSION_SCRIPT], [
	AC_CACHE_CHECK([whether the linker takes --version-script], [h2d_cv_version_script], [
		echo 'H2D_TEST { local: *; };' > conftest.map
		h2d_saved_LDFLAGS=$LDFLAGS
		LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map"
		AC_LINK_IFELSE([AC_LANG_SOURCE([int h2d_conftest;])],
			[h2d_cv_version_script=yes], [h2d_cv_version_script=no])
		LDFLAGS=$h2d_saved_LDFLAGS
		rm -f conftest.map
	])
	AS_IF([test "x$h2d_cv_version_script" = xno],
		[AC_MSG_ERROR([the linker must support --version-script (Debian package: binutils)])])
])
