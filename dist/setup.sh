# Sourced by ./ebb, ./test and dist/train with $root set: finds the JDK, installs what is missing, builds once.
# Everything on the way of an up-to-date start is a shell built-in, but one find.

dist=$root/dist/target
lib=$dist/ebb/lib
server=$dist/ebb/server
aot=$dist/ebb/ebb.aot
server_aot=$dist/ebb/server.aot
me=${0##*/}

fail() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 125
}

# --- the JDK ---

# Takes $1 if it is a JDK 25: its home into $jdk, its exact build into $jdk_build.
take_jdk() {
  [ -x "$1/bin/java" ] && [ -r "$1/release" ] || return 1
  implementor='' runtime='' version=''
  while [ -z "$version" ] || [ -z "$runtime" ] && IFS='=' read -r name value; do
    case $name in
      IMPLEMENTOR) implementor=$value ;;
      JAVA_RUNTIME_VERSION) runtime=$value ;;
      JAVA_VERSION) version=$value ;;
    esac
  done <"$1/release"
  case $version in
    '"25"' | '"25.'* | '"25-'*) jdk=$1 jdk_build="$implementor $version $runtime" ;;
    *) return 1 ;;
  esac
}

take_any_jdk() {
  if [ -n "${EBB_JAVA_HOME:-}" ]; then
    take_jdk "$EBB_JAVA_HOME" || fail "EBB_JAVA_HOME=$EBB_JAVA_HOME is not a JDK 25"
    return 0
  fi
  take_jdk "$root/jdk" && return
  [ -n "${JAVA_HOME:-}" ] && take_jdk "$JAVA_HOME" && return
  on_path=$(command -v java) && on_path=$(readlink -f -- "$on_path") && take_jdk "${on_path%/bin/java}" && return
  for home in /usr/lib/jvm/* /usr/lib64/jvm/* /usr/local/lib/jvm/* /usr/java/* /opt/java/* /opt/jdk* \
    "${HOME:-}"/.sdkman/candidates/java/* "${HOME:-}"/.jdks/*; do
    take_jdk "$home" && return
  done
  return 1
}

find_jdk() {
  take_any_jdk && return
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && {
    apt-get -qq update >/dev/null 2>&1
    for package in openjdk-25-jdk-headless temurin-25-jdk; do
      apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]' && install "$package" && take_any_jdk && return
    done
  }
  fail "no JDK 25 found; install one (Debian: openjdk-25-jdk-headless) or set EBB_JAVA_HOME to its directory"
}

# --- packages ---

install() {
  command -v apt-get >/dev/null || fail "needs the packages: $*"
  [ "$(id -u)" = 0 ] || fail "needs more packages; as root: apt-get install -y --no-install-recommends $*"
  printf '%s: installing %s\n' "$me" "$*" >&2
  complaints=$({
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
  } 2>&1 >/dev/null </dev/null) || fail "apt-get install $* failed: $complaints"
}

need_to_run() {
  command -v bwrap >/dev/null || install bubblewrap
}

# ebb-init is built with musl where there is a package of it, and where not, or nobody may install it, with glibc.
add_musl() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    missing="$missing musl-tools"
  else
    printf '%s: no musl-gcc (Debian: musl-tools): ebb-init is built with glibc, and a box of bubblewrap starts 0.5 ms later\n' "$me" >&2
  fi
}

need_to_build() {
  case $root in *:*) fail "cannot build in $root: a module path cannot contain a colon" ;; esac
  missing=''
  command -v cc >/dev/null || missing="$missing gcc"
  command -v make >/dev/null || missing="$missing make"
  command -v mvn >/dev/null || missing="$missing maven"
  [ -x /usr/bin/python3 ] || missing="$missing python3" # what most boxes run, and the tests
  set -- /usr/lib/libc.a /usr/lib64/libc.a /usr/lib/*/libc.a
  while [ $# -gt 0 ] && [ ! -e "$1" ]; do shift; done
  [ $# -gt 0 ] || missing="$missing libc6-dev"
  command -v musl-gcc >/dev/null || add_musl
  # shellcheck disable=SC2086 # one word for each package
  [ -z "$missing" ] || install $missing
  [ -x "$jdk/bin/javac" ] || fail "$jdk has no compiler; set EBB_JAVA_HOME to a full JDK 25"
}

# --- the build ---

# Without our stdin: it belongs to the command that is to be run.
maven() {
  (cd "$root" && JAVA_HOME=$jdk exec mvn -B -ntp "$@" </dev/null 9>&-)
}

# What the compilers and Maven complained about in the log $1, without Maven's advice.
tell_errors() {
  awk '/^\[ERROR\]|^\[WARNING\].*\.java:|error: |^Error/ { print } / -> \[Help 1\]/ { exit }' "$1" | head -n 40 >&2
}

# ./ebb compiles without the checks, and what is compiled is not compiled again: begin anew.
drop_unchecked() {
  [ ! -e "$dist/unchecked" ] || (cd "$root" && rm -rf ./*/target/classes ./*/target/test-classes ./*/target/maven-status dist/target/unchecked)
}

# Nothing that goes into the dist is newer than the dist.
is_built() {
  [ -e "$dist/built" ] && [ -z "$(cd "$root" && find pom.xml init kernel oracle json runtime third_party server mcp client torture cli dist \
    \( -name target -o -path init/build -o -path init/test -o -path '*/src/test' \) -prune \
    -o \( -type f -o -path '*/src/*' \) -newer dist/target/built -print -quit)" ]
}

# The start-up caches were made, or tried, with this JDK and these jars. The JVM itself also refuses one that does not fit.
is_trained() {
  trained_for=''
  [ -r "$aot.for" ] && IFS= read -r trained_for <"$aot.for"
  [ "$trained_for" = "$jdk_build" ] || return 1
  for input in "$lib"/*.jar "$server"/*.jar "$root/dist/train" "$root/dist/setup.sh"; do
    [ "$input" -nt "$aot.for" ] && return 1
  done
  return 0
}

# Runs "$@" while no other build is running.
alone() {
  mkdir -p "$dist" && (flock 9 && "$@") 9>"$dist/lock"
}

build_if_needed() {
  if ! is_built; then
    need_to_build
    printf '%s: building, log in %s\n' "$me" "$dist/build.log" >&2
    : >"$dist/started" && : >"$dist/unchecked"
    maven -q -Dquick -pl dist -am package >"$dist/build.log" 2>&1 || {
      tell_errors "$dist/build.log"
      fail "the build failed; the whole log is $dist/build.log"
    }
    mv "$dist/started" "$dist/built"
  elif ! is_trained; then
    printf '%s: training the start-up caches\n' "$me" >&2
    "$root/dist/train" 9>&-
  fi
}

# The dist, ready to run "$@"; what is there already is good enough where it cannot be written. EBB_BUILD=never takes it as
# it is. For an existing dist, doctor reports what is missing to run it, and installs nothing.
ready() {
  [ "${1:-}" = doctor ] || need_to_run
  find_jdk
  [ "${EBB_BUILD:-}" = never ] && return
  is_built && is_trained && return
  need_to_run
  if [ -w "$dist" ] || { [ ! -e "$dist" ] && [ -w "$root/dist" ]; }; then
    alone build_if_needed || exit
  elif [ ! -d "$lib" ]; then
    fail "not built yet, and $root/dist is not writable"
  fi
}

# --- java ---

# Becomes java with the flags of ebb, its modules, and "$@"; under $launcher, or behind ebb-init in the role $guard, if there is one.
# Not with --illegal-native-access=deny: the JVM then drops the module graph and the linked classes of the cache and starts
# 85 ms later. The compiler and every test JVM hold that line instead.
become_java() {
  jars=''
  for jar in "$lib"/*.jar ${more:+"$more"/*.jar}; do jars=$jars:$jar; done
  # shellcheck disable=SC2086 # options
  exec ${launcher:-} ${guard:+"$lib/ebb-init" $guard --} "$jdk/bin/java" -XX:+UseSerialGC -XX:ActiveProcessorCount=2 -XX:-UsePerfData -Xlog:disable \
    --module-path "${jars#:}" --enable-native-access=dev.ebb.kernel "$@"
}

# What a daemon needs to serve one box at a time, in MiB, processes, threads and open files, beside its supervisor; with less it
# would hang, be killed, or refuse all it is asked. beds/container/test starts it with just that, and with a little less.
needs='--pids 48 --files 160 --memory 160'

# Limits of a command that makes a box by itself: java alone would hang, or be killed without a word.
needs_of_command='--pids 24 --files 64 --memory 64'

# A command is a java of its own. doctor prints in its own list what java lacks.
become_command() {
  guard="preflight $needs_of_command"
  case "${1:-}: $* " in
    doctor:*' --json '*) guard="$guard --as json" ;;
    doctor:*) guard="$guard --as doctor" ;;
  esac
  become_java -XX:TieredStopAtLevel=1 -XX:AOTCache="$aot" -Debb.root="$root" -m dev.ebb.cli/dev.ebb.cli.Main "$@"
}

# The daemon lives long: it has the second compiler, and a supervisor that reaps what it leaves when it is killed.
become_server() {
  [ "$1" != serve ] || guard="supervise $needs"
  # A name server that does not answer holds a thread of the proxy for 4 s, not 10. A value that is set stays.
  export RES_OPTIONS="${RES_OPTIONS-timeout:2 attempts:2}"
  # Each thread of the JVM would keep freed memory of its own.
  export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX-2}"
  become_server_with -XX:AOTCache="$server_aot" -m "$server_main" "$@"
}
server_main=dev.ebb.server/dev.ebb.server.Main

# Its heap begins small on a large host, too, where it would take a 64th of the memory before it collects anything. A
# daemon without memory has lost an unknown part of its state: the next daemon begins with what is there.
become_server_with() {
  more=$server
  become_java -Xms16m -XX:+ExitOnOutOfMemoryError "$@"
}
