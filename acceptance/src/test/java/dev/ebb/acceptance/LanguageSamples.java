package dev.ebb.acceptance;

import java.util.Map;
import java.util.TreeMap;

/** Programs with the same effect in each language. */
final class LanguageSamples {
  /**
   * Programs of one language.
   *
   * @param echo copies stdin to stdout, writes something that is not ASCII, then the arguments, a
   *     line each
   * @param fail ends with 3
   * @param broken makes no sense
   * @param busy writes a line, and never ends
   * @param hungry takes memory without end, and uses it
   * @param much writes a million bytes
   */
  record Sample(String echo, String fail, String broken, String busy, String hungry, String much) {}

  static final Map<String, Sample> ALL = all();

  private LanguageSamples() {}

  private static Map<String, Sample> all() {
    var all = new TreeMap<String, Sample>();
    all.put(
        "python",
        new Sample(
            "import sys\nprint(sys.stdin.read() + 'ü')\nprint('\\n'.join(sys.argv[1:]))",
            "import sys\nsys.exit(3)",
            "def (:\n",
            "print('up', flush=True)\nwhile True: pass",
            "x = []\nwhile True: x.append(bytearray(b'x' * (1 << 20)))",
            "print('x' * 999_999)"));
    all.put(
        "javascript",
        new Sample(
            "const all = require('fs').readFileSync(0, 'utf8');\n"
                + "console.log(all + 'ü');\nconsole.log(process.argv.slice(2).join('\\n'));",
            "process.exit(3)",
            "function (",
            "console.log('up');\nfor (;;);",
            "const x = []; for (;;) x.push(Buffer.alloc(1 << 20, 1));",
            "console.log('x'.repeat(999_999));"));
    all.put(
        "typescript",
        new Sample(
            """
            declare function require(name: string): any; declare const process: any;
            const all: string = require('fs').readFileSync(0, 'utf8');
            console.log(all + 'ü');
            console.log(process.argv.slice(2).join('\\n'));
            """,
            "declare const process: any; process.exit(3)",
            "const x: number = ;",
            "console.log('up');\nfor (;;);",
            "declare const Buffer: any; const x: any[] = []; for (;;) x.push(Buffer.alloc(1 << 20, 1));",
            "console.log('x'.repeat(999999));"));
    all.put(
        "bash",
        new Sample(
            "cat; echo ü; for a; do echo \"$a\"; done",
            "exit 3",
            "if then",
            "echo up; while :; do :; done",
            "x=x; while :; do x=$x$x; done",
            "head -c 999999 /dev/zero | tr '\\0' x; echo"));
    all.put(
        "c",
        new Sample(
            "#include <stdio.h>\nint main(int n, char **v) { int c; while ((c = getchar()) != EOF)"
                + " putchar(c); puts(\"ü\"); for (int i = 1; i < n; i++) puts(v[i]); }",
            "int main(void) { return 3; }",
            "int main(void) { return",
            "#include <stdio.h>\nint main(void) { puts(\"up\"); fflush(stdout); for (;;); }",
            "#include <stdlib.h>\n#include <string.h>\n"
                + "int main(void) { for (;;) { volatile char *x = malloc(1 << 20);"
                + " if (!x) abort(); memset((char *)x, 1, 1 << 20); } }",
            "#include <stdio.h>\nint main(void) { for (int i = 0; i < 999999; i++) putchar('x');"
                + " putchar('\\n'); }"));
    all.put(
        "c++",
        new Sample(
            "#include <iostream>\nint main(int n, char **v) { std::cout << std::cin.rdbuf() << \"ü\\n\";"
                + " for (int i = 1; i < n; i++) std::cout << v[i] << '\\n'; }",
            "int main() { return 3; }",
            "int main() { std::nonsense }",
            "#include <iostream>\nint main() { std::cout << \"up\" << std::endl; for (volatile int x = 0;; x = x + 1); }",
            "#include <string>\n#include <vector>\n"
                + "int main() { std::vector<std::string> x; for (;;) x.emplace_back(1 << 20, 'x'); }",
            "#include <iostream>\n#include <string>\n"
                + "int main() { std::cout << std::string(999999, 'x') << '\\n'; }"));
    all.put(
        "java",
        new Sample(
            "import java.io.PrintStream;\n"
                + "public class Main { public static void main(String[] a) throws Exception {"
                + " var out = new PrintStream(System.out, true, \"UTF-8\"); System.in.transferTo(out);"
                + " out.println(\"ü\"); for (String each : a) out.println(each); } }",
            "public class Main { public static void main(String[] a) { System.exit(3); } }",
            "public class Main { nonsense }",
            "public class Main { public static void main(String[] a) { System.out.println(\"up\"); for (;;); } }",
            "public class Main { public static void main(String[] a) { var x = new java.util.ArrayList<byte[]>();"
                + " for (;;) { byte[] b = new byte[1 << 20]; java.util.Arrays.fill(b, (byte) 1); x.add(b); } } }",
            "public class Main { public static void main(String[] a) { System.out.println(\"x\".repeat(999_999)); } }"));
    all.put(
        "go",
        new Sample(
            "package main\nimport (\"fmt\"; \"io\"; \"os\")\nfunc main() { io.Copy(os.Stdout, os.Stdin);"
                + " fmt.Println(\"ü\"); for _, a := range os.Args[1:] { fmt.Println(a) } }",
            "package main\nimport \"os\"\nfunc main() { os.Exit(3) }",
            "package main\nfunc main() { nonsense",
            "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"up\"); for { } }",
            "package main\nfunc main() { var x [][]byte; for { b := make([]byte, 1<<20);"
                + " for i := range b { b[i] = 1 }; x = append(x, b) } }",
            "package main\nimport (\"fmt\"; \"strings\")\n"
                + "func main() { fmt.Println(strings.Repeat(\"x\", 999999)) }"));
    all.put(
        "rust",
        new Sample(
            "use std::io;\nfn main() { io::copy(&mut io::stdin(), &mut io::stdout()).unwrap();"
                + " println!(\"ü\"); for a in std::env::args().skip(1) { println!(\"{}\", a); } }",
            "fn main() { std::process::exit(3) }",
            "fn main() { nonsense",
            "fn main() { println!(\"up\"); loop { std::thread::yield_now(); } }",
            "fn main() { let mut x: Vec<Vec<u8>> = Vec::new(); loop { x.push(vec![1u8; 1 << 20]); } }",
            "fn main() { println!(\"{}\", \"x\".repeat(999999)); }"));
    all.put(
        "ruby",
        new Sample(
            "print STDIN.read, \"ü\\n\"\nARGV.each { |a| puts a }",
            "exit 3",
            "def (",
            "puts 'up'\n$stdout.flush\nloop { }",
            "x = []\nloop { x << 'x' * (1 << 20) }",
            "puts 'x' * 999_999"));
    all.put(
        "perl",
        new Sample(
            "print while <STDIN>; print \"ü\\n\"; print \"$_\\n\" for @ARGV;",
            "exit 3;",
            "print (((;",
            "$| = 1; print \"up\\n\"; 1 while 1;",
            "my @x; while (1) { push @x, 'x' x (1 << 20) . scalar @x; }",
            "print 'x' x 999_999, \"\\n\";"));
    all.put(
        "php",
        new Sample(
            "<?php echo stream_get_contents(STDIN), \"ü\\n\"; foreach (array_slice($argv, 1) as $a) echo $a, \"\\n\";",
            "<?php exit(3);",
            "<?php function (",
            "<?php echo \"up\\n\"; while (true);",
            "<?php ini_set('memory_limit', -1); $x = []; while (true) $x[] = str_repeat('x', 1 << 20) . count($x);",
            "<?php echo str_repeat('x', 999999), \"\\n\";"));
    all.put(
        "r",
        new Sample(
            "cat(readLines(file('stdin'), warn = FALSE), '\\n'); cat('\\u00fc\\n'); cat(commandArgs(TRUE), sep = '\\n')",
            "quit(status = 3)",
            "x <- ) 1",
            "cat('up\\n'); repeat { }",
            "x <- list(); repeat { x[[length(x) + 1]] <- rep(1, 131072) }",
            "cat(strrep('x', 999999), '\\n', sep = '')"));
    return all;
  }
}
