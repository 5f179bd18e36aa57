#!/bin/sh
# SPDX-License-Identifier: MIT
# quickstart: every step that fails says why, and the next run does what is left. In a tree of its own
# where all tools are fakes: nothing is built, installed or fetched.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
tree=$directory/tree
tools=$directory/tools
program=$tree/quickstart
unset H2D_CONFIGURE_FLAGS H2D_BUILD H2D_TESTS AMDGPU_CLANG

# These are the system's own; no other is in PATH, so that what is missing is the same everywhere.
mkdir "$tools"
for tool in awk cat chmod dirname getconf grep ln mkdir mktemp rm sed sh tail tee touch tr; do
	ln -s "$(command -v $tool)" "$tools/$tool"
done

# fake PATH: a script of what is on standard input; each call is noted in the folder's calls.
fake()
{
	{
		echo '#!/bin/sh'
		echo "echo \"\${0##*/} \$*\" >>'$directory/calls'"
		cat
	} >"$1"
	chmod +x "$1"
}

# fresh: a clone with all packages there, whose build works.
fresh()
{
	rm -rf "$tree"
	mkdir "$tree"
	cp "$H2D_SOURCE_DIR/quickstart" "$program"
	chmod +x "$program"
	: >"$directory/calls"
	for tool in cc c++ automake libtoolize pkg-config clang llvm-mc; do
		fake "$tools/$tool" </dev/null
	done
	for tool in apt-get sudo; do
		rm -f "$tools/$tool"
	done
	echo 'echo 0' | fake "$tools/id"
	fake "$tools/autoreconf" <<-'END'
		cat >configure <<'CONFIGURE'
		#!/bin/sh
		echo "configured with $*" >Makefile
		touch libtool
		CONFIGURE
		chmod +x configure
		touch Makefile.in
	END
	fake "$tools/make" <<-'END'
		while [ "$1" != -C ]; do shift; done
		cd "$2" && [ -f Makefile ] || exit 2
		printf '#!/bin/sh\nprintf "<%%s>" "$@"\n' >h2dpub-replay
		printf '#!/bin/sh\nexec "$@"\n' >softgpu
		chmod +x h2dpub-replay softgpu
	END
}

quickstart()
{
	wanted=$1
	shift
	(
		PATH=$tools
		cd / && runs "$wanted" "$@"
	)
}

says()
{
	grep -qF -- "$1" "$directory/error" || {
		echo "not said: $1" >>"$directory/error"
		return 1
	}
}

# called COUNT TOOL
called()
{
	[ "$(grep -c "^$2 " "$directory/calls")" = "$1" ] || {
		echo "$2 was not called $1 times" >>"$directory/error"
		return 1
	}
}

fresh
quickstart 0 run --trace 'a b' && [ "$(cat "$directory/out")" = '<--trace><a b>' ] &&
	called 1 autoreconf && called 1 make
result $? "a fresh clone is built, and replays with the arguments"
quickstart 0 run --json && [ "$(cat "$directory/out")" = '<--json>' ] && called 1 autoreconf &&
	called 2 make
result $? "a second run only looks whether all is built"

fresh
fake "$tools/autoreconf" <<'END'
echo 'autoreconf: no macro of that name'
exit 1
END
quickstart 1 && says 'autoreconf: no macro of that name' &&
	says 'preparing configure failed; the whole output is in build/autoreconf.log'
result $? "why autoreconf failed"

fresh
cp "$tools/autoreconf" "$directory/autoreconf"
echo 'touch configure; kill -9 $$' | fake "$tools/autoreconf"
quickstart 1 && cp "$directory/autoreconf" "$tools/autoreconf" && quickstart 0 && called 2 autoreconf
result $? "an interrupted autoreconf is run again"

fresh
quickstart 0
cat >"$tree/configure" <<'END'
#!/bin/sh
echo "configure: error: /nonexistent has no HSA runtime ($*)" >&2
exit 1
END
rm -rf "$tree/build"
H2D_CONFIGURE_FLAGS='--with-rocm=/nonexistent --enable-werror' quickstart 1 run --help &&
	says 'configure: error: /nonexistent has no HSA runtime (--with-rocm=/nonexistent --enable-werror)' &&
	says 'configuring in build/ failed; the whole output is in build/configure.log' &&
	grep -q '^configure: error' "$tree/build/configure.log" && [ ! -s "$directory/out" ]
result $? "why configure failed"
H2D_BUILD=$directory/elsewhere quickstart 1 check &&
	says "configuring in $directory/elsewhere/ failed; the whole output is in $directory/elsewhere/configure.log" &&
	says 'configure: error'
result $? "why configure failed in another folder"

fresh
quickstart 0
rm -rf "$tree/build"
cp "$tree/configure" "$directory/configure"
printf '#!/bin/sh\necho half >Makefile; kill -9 $$\n' >"$tree/configure"
quickstart 1 && cp "$directory/configure" "$tree/configure" && quickstart 0 &&
	[ "$(cat "$tree/build/Makefile")" = 'configured with ' ]
result $? "an interrupted configure is run again"

fresh
fake "$tools/make" <<'END'
echo 'stream.c:7: error: that is no C'
exit 2
END
quickstart 1 && says 'stream.c:7: error: that is no C' &&
	says 'building in build/ failed; the whole output is in build/make.log'
result $? "why the build failed"

# A package is missing for which there is no apt-get, nobody who may install it, or no archive.
fresh
rm "$tools/automake" "$tools/libtoolize"
quickstart 1 && says 'please install what these Debian packages hold' && says '  automake libtool' &&
	called 0 autoreconf
result $? "what to install where there is no apt-get"
fake "$tools/apt-get" <<'END'
echo 'E: the archive is not reached'
exit 100
END
quickstart 1 && says 'E: the archive is not reached' &&
	says 'apt-get failed; its whole output is in build/install.log' && called 1 apt-get
result $? "why apt-get failed"
echo 'echo 1000' | fake "$tools/id"
quickstart 1 && says 'not root and no sudo' &&
	says '  apt-get install --no-install-recommends automake libtool' && called 1 apt-get
result $? "what root has to install"
# shellcheck disable=SC2016 # the script expands it
echo '"$@"' | fake "$tools/sudo"
quickstart 1 && says 'E: the archive is not reached' && called 2 apt-get && called 1 sudo
result $? "why apt-get failed through sudo"

# check: the numbers are those of make's summary, the status is make's.
fresh
fake "$tools/make" <<'END'
while [ "$1" != -C ]; do shift; done
case " $* " in *' check '*) ;; *) exit 0 ;; esac
printf '%s\n' 'PASS: one 1' 'SKIP: one 2' 'FAIL: two 1 - a byte' '# PASS:  1' '# SKIP:  1' '# FAIL:  1'
echo 'what two said' >"$2/test-suite.log"
exit 2
END
quickstart 1 check && says 'what two said' && says 'FAIL: two 1 - a byte' &&
	shows '^1 passed, 1 failed, 1 skipped$'
result $? "check: a test failed"
fake "$tools/make" <<'END'
while [ "$1" != -C ]; do shift; done
case " $* " in *' check '*) ;; *) exit 0 ;; esac
echo 'ld: no such symbol'
exit 2
END
quickstart 1 check && says 'ld: no such symbol' &&
	says 'the tests did not build; the whole output is in build/check.log'
result $? "check: the tests did not build"
fake "$tools/make" <<'END'
while [ "$1" != -C ]; do shift; done
case " $* " in *' check '*) printf '# PASS:  3\n# FAIL:  0\n# PASS:  4\n' ;; esac
END
quickstart 0 check && shows '^7 passed, 0 failed, 0 skipped$'
result $? "check: all passed"

# bench: the tables go on in a pipe, which must not hide the status.
fresh
fake "$tools/make" <<'END'
cd "$2" && printf '#!/bin/sh\necho a table\nexit 3\n' >h2dpub-bench
printf '#!/bin/sh\nexec "$@"\n' >softgpu
chmod +x h2dpub-bench softgpu
END
quickstart 1 bench && shows '^a table$' && says 'h2dpub-bench failed'
result $? "bench: it failed"

quickstart 2 everything && says "unknown command 'everything'"
result $? "an unknown command"
quickstart 2 check --all && says "check takes no arguments, got '--all'"
result $? "an argument too many"
quickstart 0 --help && shows '^./quickstart run ARGS ' && [ ! -s "$directory/error" ]
result $? "--help"
echo "1..$number"
