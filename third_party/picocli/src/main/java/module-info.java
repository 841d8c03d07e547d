/** picocli's command line parser, without its optional parts. */
module info.picocli {
  requires static java.sql;

  exports picocli;
}
