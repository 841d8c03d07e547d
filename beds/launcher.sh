# Sourced by beds that run test classes by JUnit's own launcher, after dist/setup.sh, in $root; $kept is where the launcher and
# the log of the build lie. Surefire does the same where Maven can run.

# The project, compiled and with the list of every jar its tests need.
compile_tests() {
  junit=$(sed -n 's:.*<junit.version>\(.*\)</junit.version>.*:\1:p' pom.xml)
  drop_unchecked
  rm -f "$kept"/junit-*.jar
  {
    make -s -C init build/ebb-init &&
      EBB_BUILD=never maven -q -DskipTests package dependency:build-classpath -Dmdep.outputFile=target/classpath &&
      maven -q -N dependency:copy "-Dartifact=org.junit.platform:junit-platform-console-standalone:$junit" "-DoutputDirectory=$kept"
  } >"$kept/build.log" 2>&1 || { tell_errors "$kept/build.log"; fail "the whole log is $kept/build.log"; }
}

# The jars, to $1/lib.
lay_out_jars() {
  launcher_jar=$(find "$kept" -maxdepth 1 -name 'junit-platform-console-standalone-*.jar')
  mkdir -p "$1/lib" || exit 125
  { sed 's/:\|$/\n/g' {kernel,testkit,runtime,acceptance}/target/classpath && echo "$launcher_jar"; } | grep '[.]jar$' | sort -u |
    xargs cp -t "$1/lib" || exit 125
}

# The tests of module $1, to $2/$1/tests; java finds its flags for them in $2/$1/java.flags. There they are $3, and the clone is $4.
lay_out_module() {
  mkdir -p "$2/$1" || exit 125
  java_flags "$1" "$3" "$4" >"$2/$1/java.flags"
  cp -a "$1/target/test-classes" "$2/$1/tests" || exit 125
  [ ! -d "$1/target/classes" ] || cp -a "$1/target/classes/." "$2/$1/tests/" || exit 125
}

# The module graph that surefire makes: the module holds its tests, what they need is on the class path. But they lie beside its
# own classes: with --patch-module a JVM, and the tests start many, would do without its archive of classes.
java_flags() {
  printf '%s\n' -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Debb.root=$3"
  local module=$1
  case $module in
    testkit | acceptance)
      printf '%s\n' --enable-native-access=ALL-UNNAMED "--class-path=$2/$module/tests$(jars_of "$module" "$2" kernel)$(jars_of "$module" "$2" other)"
      return ;;
  esac
  printf '%s\n' --enable-native-access=dev.ebb.kernel --illegal-native-access=deny \
    "--module-path=$2/$module/tests$(jars_of "$module" "$2" kernel)" \
    "--add-modules=dev.ebb.$module" "--add-reads=dev.ebb.$module=ALL-UNNAMED" "--class-path=$(jars_of "$module" "$2" other | cut -c 2-)"
  (cd "$module/target/test-classes" && find . -name '*.class' -printf '%h\n' | sort -u) |
    sed -n "s:/:.:g; s:^[.][.]\(.*\):--add-opens=dev.ebb.$module/\1=ALL-UNNAMED:p"
}

# Where the jars that the tests of module $1 need lie below $2, each after a colon: the kernel, or all but the kernel and
# JUnit, which the launcher brings along.
jars_of() {
  local jar
  for jar in $(tr ':' ' ' <"$1/target/classpath"); do
    case $3,$jar in
      *.xml | other,*/ebb-kernel-* | *,*/org/junit/* | *,*/opentest4j/* | *,*/apiguardian/*) ;;
      kernel,*/ebb-kernel-* | other,*) printf ':%s/lib/%s' "$2" "${jar##*/}" ;;
    esac
  done
  [ "$3" = kernel ] || printf ':%s/lib/%s' "$2" "${launcher_jar##*/}"
}

# The options of the launcher for the classes of module $1 that match $2, one a line.
classes_of() {
  local file
  for file in $(cd "$1/src/test/java" && find . -name "$2.java" -printf '%P\n' | sort); do
    file=${file%.java}
    printf -- '--select-class=%s\n' "${file//\//.}"
  done
}
LAUNCHER='org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --details=testfeed --exclude-tag=long --exclude-tag=attack --config=junit.jupiter.execution.timeout.mode=disabled'

# Of a log of the launcher and of unittest: lines "passed failed skipped class"; what fails without a test, such as a suite, is
# a class too. Lines "@ suite NAME", "@ status NAME CODE" and "@ done" stand around what each suite has said.
count_tests() {
  sed 's/\r$//' "$1" | awk '
    function value(name) { return match($0, name "=[0-9]+") ? substr($0, RSTART + length(name) + 1, RLENGTH) + 0 : 0 }
    function add(class, p, f, s) { if (!(class in seen)) { seen[class] = ++n; name[n] = class } passed[class] += p; failed[class] += f; skipped[class] += s; wrong += f }
    /^@ suite / { suite = $3; wrong = 0; running = 1 }
    /^@ status / { running = 0; if ($4 != 0 && !wrong) add(suite " (status " $4 ")", 0, 1, 0) }
    /^Ran [0-9]+ tests? in / { add(suite, $2, 0, 0) }
    /^(OK|FAILED)( \(.*\))?$/ && suite == "init" { f = value("failures") + value("errors"); s = value("skipped"); add(suite, -f - s, f, s) }
    /^JUnit Jupiter > .* :: SUCCESSFUL$/ { add($4, 1, 0, 0) }
    /^JUnit Jupiter > .* :: FAILED$/ { add($4, 0, 1, 0) }
    /^JUnit Jupiter > .* :: (SKIPPED|ABORTED)$/ { add($4, 0, 0, 1) }
    /^\[ +[0-9]+ containers (skipped|aborted)/ && $2 { add(suite " (whole classes)", 0, 0, $2) }
    /^\[ +[0-9]+ containers failed/ && $2 { add(suite " (whole classes)", 0, $2, 0) }
    /^@ done / { done = 1 }
    END {
      if (running) add(suite " (did not end)", 0, 1, 0)
      else if (!done) add("the machine (did not end)", 0, 1, 0)
      for (i = 1; i <= n; i++) print passed[name[i]], failed[name[i]], skipped[name[i]], name[i]
    }'
}

# Why tests were skipped in the log $1, and how many for each reason.
skip_reasons() {
  sed 's/\r$//' "$1" | sed -nE "s/.* [.]{3} skipped ['\"](.*)['\"]$/\1/p; s/.*TestAbortedException: (Assumption failed: )?(.*)/\2/p; s/^\s*=> Reason: (.*)/\1/p" | sort | uniq -c
}
