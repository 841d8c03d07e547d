package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The modules that a program names. */
final class ImportsTest {
  @Test
  void theNamesOfImportStatementsAreFound() {
    assertThat(
            Imports.of(
                """
                import numpy as np, os.path
                from json.decoder import JSONDecoder
                def f():
                    import csv; import re  # later
                try: pass
                finally: pass
                x = 1; import struct
                """))
        .containsExactly("numpy", "os.path", "json.decoder", "csv", "re", "struct");
  }

  @Test
  void whatIsNoPlainNameIsLeftOut() {
    assertThat(
            Imports.of(
                """
                from . import a
                from .b import c
                important = 1
                import a-b, ../x, 1x, %s
                import a.b.c.d.e
                "import"
                print("import q")
                """
                    .formatted("x".repeat(65))))
        .isEmpty();
  }

  @Test
  void theirNumberIsBounded() {
    assertThat(Imports.of("import a" + ",a".repeat(100_000))).containsExactly("a");
    var many = new StringBuilder();
    for (int i = 0; i < 1000; i++) {
      many.append("import m").append(i).append('\n');
    }
    assertThat(Imports.of(many.toString())).hasSizeLessThan(50);
  }
}
